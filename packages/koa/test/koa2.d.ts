/** Koa 2 under another name: for what the tests use, its types are those of 3. */
declare module 'koa2' {
  import koa from 'koa'
  export default koa
}
