// The tables of the section on shedding.

const GOODPUT = ['pro', 'starter', 'free'].map((plan) => ({ head: `goodput of ${plan}`, figure: plan }))
const table = (grid, title) => ({
  ...{ grid, title },
  columns: [
    ...GOODPUT,
    { head: 'good answers/s', figure: 'goodPerSecond', isPlain: true },
    { head: 'refused', figure: 'refused', isPlain: true },
    { head: 'p50 ms of pro', figure: 'p50', isPlain: true },
    { head: 'p99 ms', figure: 'p99', isPlain: true },
  ],
})

export const SHEDDING = {
  title: 'An overloaded process',
  tables: [
    table('memory', 'Three times its capacity, memory store'),
    table('redis', 'Three times its capacity, Redis'),
    table('calm', 'Six tenths of its capacity'),
  ],
}
