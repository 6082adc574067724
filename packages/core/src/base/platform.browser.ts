/** What platform.ts exports, for browsers. The build for browsers takes this file in its place; no source imports it. */
import { hmac, sha256Of } from './sha256.js'

/** Taken when this file is loaded: a test runner may fake the globals later. */
const { setTimeout: start, clearTimeout: stop, performance, crypto } = globalThis

/** A timer like Node's. Timers do not keep a page open, so `ref` and `unref` do nothing. */
class Timer {
  readonly #id: ReturnType<typeof start>

  constructor(act: () => void, ms: number) {
    this.#id = start(act, ms)
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  clear(): void {
    stop(this.#id)
  }
}

export function setTimeout(act: () => void, ms: number): Timer {
  return new Timer(act, ms)
}

export function clearTimeout(timer: Timer | undefined): void {
  timer?.clear()
}

const due: (() => void)[] = []
let wake: (() => void) | undefined

/** Calls `act` after what is due now. A timer of 0 ms would wait for 4 ms, and in a hidden tab for a second. */
export function setImmediate(act: () => void): void {
  due.push(act)
  wake ??= startTurns()
  wake()
}

function startTurns(): () => void {
  const { port1: receiver, port2: sender } = new MessageChannel()
  Object.assign(receiver, { onmessage: () => due.shift()?.() })
  return () => sender.postMessage(undefined)
}

export const elapsedMs = performance.now.bind(performance)

export const startedAtMs = performance.timeOrigin

const FOUR_NUMBERS = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

/** 4 or 6 for an IP address of that version, else 0. */
export function isIP(text: string): number {
  if (FOUR_NUMBERS.test(text)) return 4
  const [address = '', zone] = text.split(/%(.*)/s, 2)
  if (zone !== undefined && !/^[\da-z.:-]+$/i.test(zone)) return 0
  return /^[\da-f:.]+$/i.test(address) && address.includes(':') && URL.canParse(`http://[${address}]`) ? 6 : 0
}

/** Whether two values of plain objects, lists and primitives are equal. */
export function isDeepStrictEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) return false
  const [keys, others] = [Object.keys(one), Object.keys(other)]
  return (
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(other, key) && isDeepStrictEqual(one[key], other[key]))
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

interface Channel {
  readonly hasSubscribers: boolean
  publish(message: object): void
}

/** Browsers have no diagnostics channels, so there are no listeners. */
export function channel(_name: string | symbol): Channel {
  return { hasSubscribers: false, publish: () => {} }
}

export function reportWarning(code: string, text: string): void {
  console.warn(`[${code}] TollgateWarning: ${text}`)
}

export function isOneOfSeveral(): boolean {
  return false
}

export function randomText(bytes: number): string {
  return toBase64url(crypto.getRandomValues(new Uint8Array(bytes)))
}

export function toBase64url(bytes: ArrayLike<number>): string {
  const base64 = btoa(String.fromCharCode(...Array.from(bytes)))
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

export function sha256(text: string, encoding: 'utf8' | 'utf16le'): string {
  return toBase64url(sha256Of(encoding === 'utf8' ? new TextEncoder().encode(text) : toUtf16(text)))
}

export function hmacSha256(secret: string, text: string): string {
  return toBase64url(hmac(new TextEncoder().encode(secret), toUtf16(text)))
}

function toUtf16(text: string): Uint8Array {
  const bytes = new Uint8Array(2 * text.length)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < text.length; i += 1) view.setUint16(2 * i, text.charCodeAt(i), true)
  return bytes
}
