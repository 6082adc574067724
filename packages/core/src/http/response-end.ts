import type { ServerResponse } from 'node:http'
import type { ResponseEnd } from './adapter.js'

/** Tells once when a response of Node is over: what adapters whose framework stands on Node give as `onEnd`. */
export function onResponseEnd(response: ServerResponse, listener: (end: ResponseEnd) => void): void {
  let isTold = false
  const tell = (): void => {
    if (isTold) return
    isTold = true
    listener({ status: response.statusCode, isAborted: !response.writableFinished })
  }
  // Injected requests, as tests make them, may never close.
  if (response.destroyed || response.writableFinished) return tell()
  response.once('finish', tell)
  response.once('close', tell)
}
