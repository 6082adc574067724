// The tables of the section on figures about traffic.

const share = (grid, title) => ({
  ...{ grid, title },
  columns: [{ head: "% of Node's CPU time", figure: 'percent' }],
})

export const TRAFFIC = {
  title: 'Figures about traffic',
  tables: [
    share('memory', 'In memory, 10,000 subjects'),
    ...[1, 64, 512].map((many) => share(`redis ${many}`, `On Redis, 10,000 subjects, ${many} in flight`)),
  ],
}
