// The tables of the sections on what Tollgate costs a process: CPU time per request, and its import.
import * as names from '../../names.mjs'

const FRAMEWORKS = ['Fastify', 'Express', 'Koa']
const MODES = { allowed: 'all allowed, 10 000 subjects', denied: 'one denied tenant' }
const plain = (head, figure) => ({ head, figure, isPlain: true })

export const HTTP_CPU = {
  title: 'CPU time per HTTP request',
  placement: 'together',
  tables: FRAMEWORKS.flatMap((framework) =>
    Object.entries(MODES).map(([mode, title]) => ({
      ...{ grid: `${framework}, ${mode}`, title: `${framework}, ${title}` },
      ...{ reference: names.BY_HAND, control: names.BY_HAND_AGAIN, judged: 'cpuUs' },
      columns: [
        { head: 'Node µs', figure: 'cpuUs' },
        { head: 'x by hand', figure: 'cpuUs', isRatio: true },
      ],
    })),
  ),
}

export const IMPORT = {
  title: 'Import time and size',
  tables: [
    {
      ...{ grid: 'time', title: 'Time' },
      ...{ reference: names.EXPRESS, control: names.EXPRESS_AGAIN, judged: 'ms' },
      columns: [
        { head: 'ms', figure: 'ms' },
        { head: 'x express-rate-limit', figure: 'ms', isRatio: true },
      ],
    },
    {
      ...{ grid: 'size', title: 'Size' },
      columns: [
        { head: 'files loaded', figure: 'files', isRange: true },
        plain('kB loaded', 'loadedKb'),
        plain('kB of the package', 'packageKb'),
      ],
    },
  ],
}
