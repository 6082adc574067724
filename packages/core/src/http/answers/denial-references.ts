import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { atCaller, show, TollgateError } from '../../base/errors.js'
import { needOptions, needSecret } from '../../base/options.js'
import type { Decision, DenialReason } from '../../limiter/decision/decision.js'
import { lastBack } from '../../limiter/decision/denial.js'
import { needDecision } from './needed-decision.js'
import { packDenial, unpackDenial, type DeniedFacts } from './denied-facts.js'

/** What `denialReferences` needs. */
export interface DenialReferencesOptions {
  /**
   * Seals the references: at least 16 characters that only you know, the same in all processes. To change it, pass a list, the new one
   * first: that one seals, and references of all of them can be opened.
   */
  readonly secret: string | readonly string[]
}

/** What a reference says of the denial that carried it. */
export interface ReferredDenial extends Omit<DeniedFacts, 'atMs' | 'waitMs'> {
  /** Why the request was denied. */
  readonly reason: DenialReason
  /** When it was denied, by the clock of the process that answered. */
  readonly at: Date
  /** When it would have passed if no other request took units; null if never. */
  readonly fitsAt: Date | null
}

/** Seals and opens references of denials. Made by `denialReferences`. */
export interface DenialReferences {
  /**
   * The reference of a denial, as a URN of at most 200 characters. Denials of one subject by one limit at one cost share theirs for a
   * second.
   */
  of(decision: Decision): string
  /**
   * What a reference says. Needs nothing but the secret.
   *
   * @throws {TollgateError} ERR_TOLLGATE_REFERENCE for a text that is none, that was changed, or that another secret sealed. The message
   *                         says which
   */
  open(reference: string): ReferredDenial
}

const PREFIX = 'urn:tollgate:'
const VERSION = 1
const [KEY_ID, SALT, COUNTER, TAG] = [4, 16, 6, 16]
const HEAD = 1 + KEY_ID + SALT
/** So that the URN has at most 200 characters. */
const MOST_BYTES = Math.floor(((200 - PREFIX.length) * 3) / 4)
const MOST_FACTS = MOST_BYTES - HEAD - COUNTER - TAG
/** References of one second that are remembered. With more, all are forgotten. */
const MOST_KNOWN = 1000
const CHANGED = 'it was changed, or somebody made it up who has no secret'
const SECRET = 'process.env.REFERENCE_SECRET'
const EXAMPLE = `'${PREFIX}AZ...', as in the field instance of a denial`

/**
 * Gives each denial a reference that says why it was denied. Only who has the secret can open it, and needs no storage for it: what it
 * says is encrypted in it. Pass it to `rateLimit` and `toHttpResponse` as `references`: problem details then have it as `instance`.
 *
 * Sealed with AES-256-GCM. Each call of this function has a key of its own: HKDF (RFC 5869) of the secret and 16 random bytes, which each
 * reference carries. The nonce is a counter, so that none repeats.
 *
 * @throws {ConfigError} when the secret is too short
 * @example
 * const references = denialReferences({ secret: process.env.REFERENCE_SECRET })
 * app.use(rateLimit({ limit: '100/min', references }))
 * console.log(references.open('urn:tollgate:AZ...')) // { at, reason, subject, plan, limit, cost, used, quota, fitsAt, source }
 */
export function denialReferences(options: DenialReferencesOptions): DenialReferences {
  return new SealedReferences(atCaller(denialReferences, () => readSecrets(options)))
}

function readSecrets(options: DenialReferencesOptions): readonly string[] {
  needOptions(options, { names: ['secret'], example: `{ secret: ${SECRET} }` })
  // Not flat, which steps over holes.
  const secrets = Array.isArray(options.secret)
    ? Array.from(options.secret as string[])
    : [options.secret as string]
  if (secrets.length === 0) needSecret('secret', options.secret, SECRET)
  for (const [i, secret] of secrets.entries()) {
    const path = Array.isArray(options.secret) ? `secret[${i}]` : 'secret'
    needSecret(path, secret, SECRET)
  }
  return secrets
}

class SealedReferences implements DenialReferences {
  readonly #secrets: readonly { readonly secret: string; readonly id: Buffer }[]
  readonly #head: Buffer
  readonly #key: Buffer
  #count = 0
  #second = 0
  readonly #known = new Map<string, string>()
  /** Of the references that were opened last: those of one process have one key. */
  #opened: { readonly head: Buffer; readonly key: Buffer } | undefined

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets.map((secret) => ({ secret, id: derive(secret, Buffer.alloc(0), KEY_ID) }))
    const [{ secret, id }] = this.#secrets as [{ secret: string; id: Buffer }]
    const salt = randomBytes(SALT)
    this.#head = Buffer.concat([Buffer.of(VERSION), id, salt])
    this.#key = derive(secret, salt, 32)
  }

  of(decision: Decision): string {
    needDecision(decision, 'references.of')
    if (decision.allowed)
      throw new TollgateError('ERR_TOLLGATE_REFERENCE', 'decision: it was allowed, so it has no reference')
    const now = Date.now()
    const second = Math.floor(now / 1000)
    const { subject, plan, cost, reason, source, override, limits, retryAfterMs } = decision
    const { name: limit, owner } = lastBack(decision) ?? {}
    const { quota, windowMs } = limits.find(({ name }) => name === limit) ?? {}
    // Two limiters, scopes or own limits can have limits of one name. One that differs in nothing else fits at another time.
    const fits = retryAfterMs === null ? null : Math.round((now + retryAfterMs) / 1000)
    // The ids come last, since they alone can have any character.
    const ids = JSON.stringify([subject?.id, owner?.id])
    const key = `${plan}\n${limit}\n${[quota, windowMs, fits, cost, reason, source, override].join(' ')}\n${ids}`
    if (second !== this.#second || this.#known.size >= MOST_KNOWN) {
      this.#known.clear()
      this.#second = second
    }
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const made = this.#seal(packDenial(decision, now, MOST_FACTS))
    this.#known.set(key, made)
    return made
  }

  #seal(facts: Uint8Array): string {
    const counter = Buffer.alloc(COUNTER)
    counter.writeUIntBE((this.#count += 1), 0, COUNTER)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonceOf(counter)).setAAD(this.#head)
    const sealed = Buffer.concat([
      this.#head,
      counter,
      cipher.update(facts),
      cipher.final(),
      cipher.getAuthTag(),
    ])
    return PREFIX + sealed.toString('base64url')
  }

  open(reference: string): ReferredDenial {
    const bytes = bytesOf(reference)
    const head = bytes.subarray(0, HEAD)
    const id = head.subarray(1, 1 + KEY_ID)
    const own = this.#secrets.find((one) => one.id.equals(id))
    if (!own)
      throw otherKey(
        id,
        this.#secrets.map((one) => one.id),
      )
    const key = this.#opened?.head.equals(head)
      ? this.#opened.key
      : derive(own.secret, head.subarray(1 + KEY_ID), 32)
    const facts = unseal(bytes, head, key)
    if (!facts) throw wrongReference(CHANGED)
    this.#opened = { head, key }
    const { atMs, waitMs, ...said } = unpackDenial(facts)
    return { at: new Date(atMs), fitsAt: waitMs === null ? null : new Date(atMs + waitMs), ...said }
  }
}

/** Throws unless it can be a reference. */
function bytesOf(reference: unknown): Buffer {
  const text = typeof reference === 'string' ? reference.trim() : ''
  const isOne = /^urn:tollgate:[\w-]+$/i.test(text) && text.length <= 200
  if (!isOne) throw wrongReference(`got ${show(reference)}, expected one such as ${EXAMPLE}`)
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url')
  // Base64 has several texts for the same bytes. Only one of them was sealed.
  if (bytes.toString('base64url') !== text.slice(PREFIX.length)) throw wrongReference(CHANGED)
  if (bytes[0] !== VERSION)
    throw wrongReference(`it is of another version of Tollgate, or no reference such as ${EXAMPLE}`)
  if (bytes.length <= HEAD + COUNTER + TAG) throw wrongReference('its end is missing: copy all of it')
  return bytes
}

function unseal(bytes: Buffer, head: Buffer, key: Buffer): Buffer | undefined {
  const counter = bytes.subarray(HEAD, HEAD + COUNTER)
  const sealed = bytes.subarray(HEAD + COUNTER, -TAG)
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(counter), { authTagLength: TAG })
  decipher.setAAD(head).setAuthTag(bytes.subarray(-TAG))
  try {
    return Buffer.concat([decipher.update(sealed), decipher.final()])
  } catch {
    return undefined
  }
}

function nonceOf(counter: Buffer): Buffer {
  return Buffer.concat([Buffer.alloc(12 - COUNTER), counter])
}

/** A key, or with an empty salt its id. */
function derive(secret: string, salt: Buffer, bytes: number): Buffer {
  const use = salt.length === 0 ? 'tollgate denial reference: id' : 'tollgate denial reference'
  return Buffer.from(hkdfSync('sha256', secret, salt, use, bytes))
}

function otherKey(id: Buffer, own: readonly Buffer[]): TollgateError {
  const ids = own.map((one) => one.toString('hex')).join(', ')
  return wrongReference(
    `it was sealed with another secret, of the key ${id.toString('hex')}. Here is ${ids}: pass the secret of that time in the list, too`,
  )
}

function wrongReference(problem: string): TollgateError {
  return new TollgateError('ERR_TOLLGATE_REFERENCE', `reference: ${problem}`)
}
