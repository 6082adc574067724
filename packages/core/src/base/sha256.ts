/**
 * SHA-256 and its HMAC, for browsers. Their own are asynchronous, and the memory store decides at once.
 *
 * @see https://doi.org/10.6028/NIST.FIPS.180-4
 */

/** How many bytes are hashed at a time. */
const BLOCK = 64

/** The eight words of 32 bits that a hash is made of. */
type Words = readonly [number, number, number, number, number, number, number, number]

/** The constants are the first 32 fractional bits of roots of primes: square roots to start with, a cube root for each round. */
const PRIMES = firstPrimes(64)
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime))) as unknown as Words
const ROUNDS = PRIMES.map((prime) => fraction(Math.cbrt(prime)))

function firstPrimes(count: number): number[] {
  const found: number[] = []
  for (let n = 2; found.length < count; n += 1) if (found.every((prime) => n % prime !== 0)) found.push(n)
  return found
}

function fraction(x: number): number {
  return Math.floor((x % 1) * 2 ** 32) | 0
}

/** The hash of a message, 32 bytes. */
export function sha256Of(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / BLOCK) * BLOCK)
  padded.set(message)
  padded[message.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n)
  let words = START
  for (let at = 0; at < padded.length; at += BLOCK) words = mixed(words, schedule(view, at))
  const hash = new DataView(new ArrayBuffer(32))
  words.forEach((word, i) => hash.setInt32(4 * i, word))
  return new Uint8Array(hash.buffer)
}

/** The HMAC of a message with a secret, 32 bytes. */
export function hmac(secret: Uint8Array, message: Uint8Array): Uint8Array {
  const key = new Uint8Array(BLOCK)
  key.set(secret.length > BLOCK ? sha256Of(secret) : secret)
  const inner = sha256Of(
    joined(
      key.map((byte) => byte ^ 0x36),
      message,
    ),
  )
  return sha256Of(
    joined(
      key.map((byte) => byte ^ 0x5c),
      inner,
    ),
  )
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const all = new Uint8Array(one.length + other.length)
  all.set(one)
  all.set(other, one.length)
  return all
}

const turned = (x: number, by: number): number => (x >>> by) | (x << (32 - by))

/** What each round adds for the block that begins here. */
function schedule(view: DataView, at: number): Int32Array {
  const words = new Int32Array(64)
  const word = (i: number): number => words[i] as number
  for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(at + 4 * i)
  for (let i = 16; i < 64; i += 1) {
    const [x, y] = [word(i - 15), word(i - 2)]
    const fromX = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3)
    const fromY = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10)
    words[i] = word(i - 16) + fromX + word(i - 7) + fromY
  }
  return words.map((one, i) => one + (ROUNDS[i] as number))
}

function mixed(before: Words, added: Int32Array): Words {
  let words = before
  for (const one of added) words = round(words, one)
  return words.map((word, i) => (word + (before[i] as number)) | 0) as unknown as Words
}

function round([a, b, c, d, e, f, g, h]: Words, added: number): Words {
  const choice = (e & f) ^ (~e & g)
  const majority = (a & b) ^ (a & c) ^ (b & c)
  const one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + added
  const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority
  return [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g]
}
