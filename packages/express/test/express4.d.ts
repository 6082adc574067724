/** Express 4 under another name. The types that tests use are the same as in Express 5. */
declare module 'express4' {
  import express from 'express'
  export default express
}
