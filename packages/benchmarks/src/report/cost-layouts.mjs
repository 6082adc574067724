// The tables of the section on what Tollgate costs a process.
import * as names from '../names.mjs'

const FRAMEWORKS = ['Fastify', 'Express', 'Koa']
const MODES = { allowed: 'all allowed, 10 000 subjects', denied: 'one denied tenant' }

export const HTTP_CPU = {
  title: 'CPU a request on three frameworks, beside the same headers by hand',
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
