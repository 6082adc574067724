/** For programs that run a command line in their own process, such as tests. Operators use the command `tollgate`. */
export { run } from './run.js'
export type { Host, InputStream, OutputStream } from './host.js'
