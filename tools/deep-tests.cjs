const { readFileSync } = require('node:fs')

/** Whether a test tries more in the deep run than in `npm test`, or is not in that at all: a `*.deep.test.ts`. */
const isDeeper = (path) =>
  path.endsWith('.deep.test.ts') || /\b(cases|forAll)\(|\bisDeep\b/.test(readFileSync(path, 'utf8'))

/** The filter of jest in the deep run. */
module.exports = (paths) => ({ filtered: paths.filter(isDeeper) })
