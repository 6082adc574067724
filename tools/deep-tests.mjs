import { readFileSync } from 'node:fs'

/** Whether a test tries more in the deep run than in `npm test`, or nothing there: a `*.deep.test.ts`. */
const isDeeper = (path) =>
  path.endsWith('.deep.test.ts') || /\b(cases|forAll)\(|\bisDeep\b/.test(readFileSync(path, 'utf8'))

/** The filter of jest in the deep run. */
export default (paths) => ({ filtered: paths.filter(isDeeper) })
