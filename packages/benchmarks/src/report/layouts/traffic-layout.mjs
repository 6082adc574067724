// The tables of the section on figures about traffic.
import * as names from '../../names.mjs'

const time = (grid, title) => ({
  ...{ grid, title, reference: names.NO_TRAFFIC, control: names.NO_TRAFFIC_AGAIN, judged: 'us' },
  columns: [
    { head: 'Node µs', figure: 'us' },
    { head: 'x without', figure: 'us', isRatio: true },
  ],
})

export const TRAFFIC = {
  title: 'Figures about traffic',
  tables: [
    time('memory', 'In memory, 10,000 subjects'),
    ...[1, 64, 512].map((many) => time(`redis ${many}`, `On Redis, 10,000 subjects, ${many} in flight`)),
  ],
}
