/** Express 4 under another name: for what the tests use, its types are those of 5. */
declare module 'express4' {
  import express from 'express'
  export default express
}
