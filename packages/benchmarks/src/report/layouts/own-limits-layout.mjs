// The tables of the section on limits that subjects bring.
import * as names from '../../names.mjs'

const time = (grid, title) => ({
  ...{ grid, title, reference: names.NAMED_PLANS, control: names.NAMED_PLANS_AGAIN, judged: 'us' },
  columns: [
    { head: 'Node µs', figure: 'us' },
    { head: 'x named plans', figure: 'us', isRatio: true },
  ],
})

export const OWN_LIMITS = {
  title: 'Own limits',
  tables: [
    time('memory', 'In memory, each of 10,000 subjects with other limits'),
    time('redis', 'On Redis, each of 10,000 subjects with other limits'),
    time('memory few', 'In memory, 100 different limits'),
    time('redis few', 'On Redis, 100 different limits'),
    {
      ...{ grid: 'heap', title: 'MB of the heap, 10,000 subjects in memory' },
      columns: [
        { head: 'each with its limits', figure: 'once', isPlain: true },
        { head: 'after 200,000 different limits', figure: 'often', isPlain: true },
      ],
    },
  ],
}
