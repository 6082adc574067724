const { readFileSync } = require('node:fs')

/** Whether a test tries more in the deep run than in `npm test`, or is not in that at all: a `*.deep.test.ts`. */
const isDeeper = (path) => path.endsWith('.deep.test.ts') || triesMore(path)

/** With TOLLGATE_SLOW=1, none does. */
const triesMore = (path) =>
  process.env.TOLLGATE_SLOW !== '1' && /\b(cases|forAll)\(|\bisDeep\b/.test(readFileSync(path, 'utf8'))

/** The filter of jest in the deep run. */
module.exports = (paths) => ({ filtered: paths.filter(isDeeper) })
