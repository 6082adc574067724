/** Koa 2 under another name. The types that tests use are the same as in Koa 3. */
declare module 'koa2' {
  import koa from 'koa'
  export default koa
}
