import { isWhole } from '../base/options.js'
import { implementations, windowAlgorithms, type AlgorithmName } from '../algorithms/registry.js'
import { ConfigError, show, pageOf } from '../base/errors.js'
import { processWide } from '../base/warnings.js'
import type { LimitSet } from '../plans/limit/limit-set.js'
import type { Store, StoreAbilities } from './contract.js'

const METHODS = ['consume', 'peek', 'refund', 'reset'] as const
const OPTIONAL_METHODS = ['ready', 'observe', 'close', 'testClock'] as const
const PAGE = `${pageOf('guides/writing-a-store.md')} says what a store has`

/**
 * Refuses what is not a store, so that the error comes when a limiter is created and not with its first request.
 *
 * @param path where the user wrote it, for the error, such as `store`
 * @throws {ConfigError} that names the missing or wrong method or ability
 */
export function checkStore(given: unknown, path: string): asserts given is Store {
  const store = given as Partial<Record<string, unknown>> | null | undefined
  // At least two methods: other objects can have one with such a name, such as a Redis client's `reset`.
  if (
    typeof store !== 'object' ||
    store === null ||
    METHODS.filter((name) => isMethod(store[name])).length < 2
  ) {
    if (isRedisClient(store)) {
      throw new ConfigError(
        path,
        `got a Redis client, expected a store made from it: ${path}: redisStore(client)`,
      )
    }
    throw ConfigError.wrongSecret(path, given, meantBy(given, path))
  }
  for (const name of METHODS) {
    if (!isMethod(store[name])) refuse(`${path}.${name}`, store[name], `a method; ${PAGE}`)
  }
  for (const name of OPTIONAL_METHODS) {
    if (store[name] !== undefined && !isMethod(store[name])) {
      refuse(`${path}.${name}`, store[name], 'a method, or nothing')
    }
  }
  if (store['rules'] !== undefined && !isMethod((store['rules'] as { sync?: unknown } | null)?.sync)) {
    refuse(`${path}.rules`, store['rules'], 'an object with a method sync, or nothing')
  }
  const board = store['board'] as { readonly put?: unknown; readonly read?: unknown } | null | undefined
  if (board !== undefined && !(isMethod(board?.put) && isMethod(board?.read))) {
    refuse(`${path}.board`, board, 'an object with the methods put and read, or nothing')
  }
  checkAbilities(store, path)
}

const CALLS = ['redisStore(client)', 'memcachedStore(address)', 'memoryStore()']

function meantBy(given: unknown, path: string): string {
  if (typeof given === 'string' && /[:@]/.test(given)) {
    if (/^\s*https?:/i.test(given)) {
      return `a store: ${path}: redisStore(new Redis('redis://127.0.0.1:6379')); Redis does not speak HTTP`
    }
    const url = `a store: ${path}: redisStore(new Redis(url))`
    return given.includes('//') ? url : `${url}, or memcachedStore(address) of @tollgate/memcached`
  }
  const call = typeof given === 'function' && CALLS.find((one) => one.startsWith(`${given.name}(`))
  if (call) return `a store, so call it: ${path}: ${call}`
  return `${CALLS.join(', ')}, or a store of your own (${PAGE})`
}

/** Whether it is any package's Redis client: an object that can run scripts. */
export function isRedisClient(given: unknown): boolean {
  const client = given as Partial<Record<string, unknown>> | null | undefined
  return isMethod(client?.eval) && (isMethod(client?.evalsha) || isMethod(client?.evalSha))
}

const isBoolean = (given: unknown): boolean => typeof given === 'boolean'
const isFrom1 = (given: unknown): boolean => isWhole(given, 1)

/** A store's abilities, except its algorithms. */
const ABILITIES: readonly (readonly [
  name: keyof StoreAbilities,
  isRight: (given: unknown) => boolean,
  expected: string,
])[] = [
  ['atomic', isBoolean, 'true if it decides several keys in one step, else false or nothing'],
  ['shards', isFrom1, 'the number of its shards: a whole number from 1, or nothing'],
  ['leases', isBoolean, 'true if it decides requests with the grant lease, else false or nothing'],
  ['slots', isBoolean, 'true if it counts requests in flight, else false or nothing'],
  ['holds', isBoolean, 'true if it makes reservations and books places, else false or nothing'],
  ['blocks', isBoolean, 'true if it counts denials and blocks keys, else false or nothing'],
  ['observers', isBoolean, 'true if it counts limits that observe, else false or nothing'],
  ['overage', isBoolean, 'true if it counts beyond a quota, else false or nothing'],
  ['accounts', isBoolean, 'true if it keeps what is booked on limits, else false or nothing'],
  ['billingDays', isBoolean, 'true if it counts by the billing days of subjects, else false or nothing'],
  ['largestQuota', isFrom1, 'the largest quota that it can count: a whole number from 1, or nothing'],
  [
    'longestTtlMs',
    (given) => typeof given === 'number' && given > 0,
    'the longest that it keeps counts, in ms, or nothing',
  ],
  [
    'clock',
    (given) => given === 'server' || given === 'process',
    `whose clock decides: 'server', 'process', or nothing`,
  ],
  [
    'space',
    (given) => typeof given === 'object' && given !== null,
    'an object that all stores with the same keys share, or nothing',
  ],
]

function checkAbilities(store: Partial<Record<keyof StoreAbilities, unknown>>, path: string): void {
  const { synchronous, algorithms, defaultAlgorithm } = store
  if (!isBoolean(synchronous)) {
    refuse(`${path}.synchronous`, synchronous, 'true if its answers are values, false if they are promises')
  }
  for (const [name, isRight, expected] of ABILITIES) {
    if (store[name] !== undefined && !isRight(store[name])) refuse(`${path}.${name}`, store[name], expected)
  }
  if (algorithms !== undefined) checkAlgorithms(algorithms, `${path}.algorithms`)
  if (defaultAlgorithm !== undefined) {
    checkDefault(defaultAlgorithm, algorithms as StoreAbilities['algorithms'], `${path}.defaultAlgorithm`)
  }
}

/** Checks the algorithm for limits that name none. Users can write only those whose windows can have any length. */
function checkDefault(given: unknown, algorithms: StoreAbilities['algorithms'], path: string): void {
  const names = windowAlgorithms.filter((name) => implementations[name].name === name)
  const supported = names.filter((name) => algorithms?.includes(name) ?? true)
  if (supported.includes(given as AlgorithmName)) return
  if (supported.length === 0)
    refuse(path, given, "nothing, since only a limit's window chooses among its `algorithms`")
  const which = algorithms === undefined ? '' : ', which are those of `algorithms`'
  refuse(path, given, `one of ${supported.map(show).join(', ')}${which}, or nothing`)
}

function checkAlgorithms(given: unknown, path: string): void {
  const names = Object.keys(implementations)
  const expected = `a list of some of ${names.join(', ')}, or nothing for all`
  if (!Array.isArray(given) || given.length === 0) refuse(path, given, expected)
  const unknown = (given as unknown[]).findIndex((name) => !names.includes(name as string))
  if (unknown !== -1) refuse(`${path}[${unknown}]`, (given as unknown[])[unknown], expected)
}

function isMethod(given: unknown): boolean {
  return typeof given === 'function'
}

function refuse(path: string, given: unknown, expected: string): never {
  throw ConfigError.wrong(path, given, expected)
}

/** The first of these limits' algorithms that the store does not support; undefined if it supports all. */
export function unsupportedBy(
  { algorithms }: StoreAbilities,
  { limits }: LimitSet,
): AlgorithmName | undefined {
  if (!algorithms) return undefined
  return limits.map(({ algorithm }) => algorithm).find((name) => !algorithms.includes(name))
}

/** Whether a store can count limits as a subject's billing day makes them. */
export function countsBilled(store: StoreAbilities, set: LimitSet): boolean {
  return store.billingDays === true && set.ttlMs <= (store.longestTtlMs ?? Infinity)
}

const ofClients = processWide('spaces of clients', () => new WeakMap<object, Map<string, object>>())
const ofServers = processWide('spaces of servers', () => new Map<string, Map<string, object>>())

/**
 * Makes a store's ability `space`: the same object for the same keys.
 *
 * @param where the client, or the servers' addresses as text
 */
export function spaceOf(where: object | string, prefix: string): object {
  const ofClient = (typeof where === 'string' ? ofServers.get(where) : ofClients.get(where)) ?? new Map()
  if (typeof where === 'string') ofServers.set(where, ofClient)
  else ofClients.set(where, ofClient)
  const space = ofClient.get(prefix) ?? {}
  ofClient.set(prefix, space)
  return space
}
