// The tables of the section on billing days.
import * as names from '../../names.mjs'

const node = [
  { head: 'Node µs', figure: 'us' },
  { head: 'x one day', figure: 'us', isRatio: true },
]
const judged = { reference: names.ONE_DAY, control: names.ONE_DAY_AGAIN, judged: 'us' }

export const BILLING_DAYS = {
  title: 'Billing days',
  tables: [
    { grid: 'memory', title: 'In memory, 10,000 subjects', ...judged, columns: node },
    {
      ...{ grid: 'redis', title: 'On Redis, 10,000 subjects in batches of 64', ...judged },
      columns: [
        ...node,
        { head: 'Redis µs', figure: 'redisUs' },
        { head: 'x one day', figure: 'redisUs', isRatio: true },
      ],
    },
  ],
}
