// The tables of the sections on Memcached.
import * as names from '../../names.mjs'

const plain = (head, figure) => ({ head, figure, isPlain: true })
const speed = (grid, title, reference, control) => ({
  ...{ grid, title, reference, control, judged: 'perSecond' },
  columns: [
    plain('decisions/s', 'perSecond'),
    { head: 'x rate-limiter-flexible', figure: 'perSecond', isRatio: true },
    plain('Node µs', 'nodeUs'),
    plain('Memcached µs', 'serverUs'),
    { ...plain('changes per decision', 'changes'), isSmall: true },
    { ...plain('reads', 'reads'), isSmall: true },
  ],
})
const BY_FLEXIBLE = [names.FLEXIBLE_MEMCACHED, names.FLEXIBLE_MEMCACHED_AGAIN]

export const MEMCACHED = {
  title: 'Memcached',
  tables: [
    speed('tenants', '1000 tenants, 64 in flight, all allowed', ...BY_FLEXIBLE),
    speed('hot', 'One hot tenant, 64 in flight, all allowed', ...BY_FLEXIBLE),
    speed(
      'flood',
      'One denied tenant floods, 64 in flight',
      ...[names.FLEXIBLE_MEMCACHED_BLOCK, names.FLEXIBLE_MEMCACHED_BLOCK_AGAIN],
    ),
  ],
}

export const MEMCACHED_ACCURACY = {
  title: 'Accuracy on Memcached',
  tables: [
    {
      ...{ grid: 'accuracy', rowHead: 'let through by a limit of 200 per second' },
      columns: [
        { head: 'most in any 0.75 s', figure: 'most', isRange: true },
        { head: 'stated bound', figure: 'bound', isRange: true },
        { head: 'in 60 s', figure: 'admitted', isRange: true },
        { head: 'by an exact counter', figure: 'exact', isRange: true },
        plain('share', 'share'),
      ],
    },
  ],
}
