import { isWhole } from '../base/options.js'
import { implementations, windowAlgorithms, type AlgorithmName } from '../algorithms/registry.js'
import { ConfigError, show, pageOf } from '../base/errors.js'
import { processWide } from '../base/warnings.js'
import type { LimitSet } from '../plans/limit/limit-set.js'
import type { Store, StoreAbilities } from './contract.js'

const METHODS = ['consume', 'peek', 'refund', 'reset'] as const
const OPTIONAL_METHODS = ['ready', 'observe', 'close', 'testClock'] as const
const PAGE = `${pageOf('writing-a-store.md')} says what a store has`

/**
 * Refuses anything that is not a store, when the limiter is created rather than at its first request.
 *
 * @param path where the user wrote it, for the error: `store`
 * @throws {ConfigError} that names the method or the ability that is missing or wrong
 */
export function checkStore(given: unknown, path: string): asserts given is Store {
  const store = given as Partial<Record<string, unknown>> | null | undefined
  // At least two methods: other objects can have one of these names, such as the `reset` of a Redis client.
  if (
    typeof store !== 'object' ||
    store === null ||
    METHODS.filter((name) => isMethod(store[name])).length < 2
  ) {
    if (isRedisClient(store)) {
      throw new ConfigError(
        path,
        `got a Redis client, expected a store made of it: ${path}: redisStore(client)`,
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
  checkAbilities(store, path)
}

function meantBy(given: unknown, path: string): string {
  if (typeof given === 'string' && /[:@]/.test(given)) {
    if (/^\s*https?:/i.test(given)) {
      return `a store: ${path}: redisStore(new Redis('redis://127.0.0.1:6379')); Redis speaks no HTTP`
    }
    const url = `a store: ${path}: redisStore(new Redis(url))`
    return given.includes('//') ? url : `${url}, or memcachedStore(address) of @tollgate/memcached`
  }
  if (typeof given === 'function' && given.name === 'memoryStore') {
    return `a store, so call it: ${path}: memoryStore()`
  }
  if (typeof given === 'function' && given.name === 'redisStore') {
    return `a store, so call it: ${path}: redisStore(client)`
  }
  if (typeof given === 'function' && given.name === 'memcachedStore') {
    return `a store, so call it: ${path}: memcachedStore(address)`
  }
  return `redisStore(client), memcachedStore(address), memoryStore(), or a store of your own (${PAGE})`
}

/** Whether it is a Redis client of any package: an object that can run scripts. */
export function isRedisClient(given: unknown): boolean {
  const client = given as Partial<Record<string, unknown>> | null | undefined
  return isMethod(client?.eval) && (isMethod(client?.evalsha) || isMethod(client?.evalSha))
}

/** Abilities that a store is asked for only if it claims them, with what it then does. */
const ASKED_ABILITIES = [
  ['leases', 'decides requests with the grant lease'],
  ['slots', 'counts requests in flight'],
  ['holds', 'makes reservations and books places'],
] as const

function checkAbilities(store: Partial<Record<keyof StoreAbilities, unknown>>, path: string): void {
  const { synchronous, atomic, shards, algorithms, defaultAlgorithm, clock, space } = store
  if (typeof synchronous !== 'boolean') {
    refuse(`${path}.synchronous`, synchronous, 'true if its answers are values, false if they are promises')
  }
  if (atomic !== undefined && typeof atomic !== 'boolean') {
    refuse(`${path}.atomic`, atomic, 'true if it decides several keys in one step, else false or nothing')
  }
  if (shards !== undefined && !isWhole(shards, 1)) {
    refuse(`${path}.shards`, shards, 'in how many shards its keys are: a whole number from 1, or nothing')
  }
  for (const [name, does] of ASKED_ABILITIES) {
    const has = store[name]
    if (has !== undefined && typeof has !== 'boolean') {
      refuse(`${path}.${name}`, has, `true if it ${does}, else false or nothing`)
    }
  }
  const { longestTtlMs, largestQuota } = store
  if (largestQuota !== undefined && !isWhole(largestQuota, 1)) {
    refuse(
      `${path}.largestQuota`,
      largestQuota,
      'the largest quota that it can count: a whole number from 1, or nothing',
    )
  }
  if (longestTtlMs !== undefined && !(typeof longestTtlMs === 'number' && longestTtlMs > 0)) {
    refuse(`${path}.longestTtlMs`, longestTtlMs, 'the longest that it keeps counts, in ms, or nothing')
  }
  if (clock !== undefined && clock !== 'server' && clock !== 'process') {
    refuse(`${path}.clock`, clock, `whose clock decides: 'server', 'process', or nothing`)
  }
  if (space !== undefined && (typeof space !== 'object' || space === null)) {
    refuse(`${path}.space`, space, 'an object that all stores of the same keys have, or nothing')
  }
  if (algorithms !== undefined) checkAlgorithms(algorithms, `${path}.algorithms`)
  if (defaultAlgorithm !== undefined) {
    checkDefault(defaultAlgorithm, algorithms as StoreAbilities['algorithms'], `${path}.defaultAlgorithm`)
  }
}

/** It is written as users write it, so it is one whose windows can have any length. */
function checkDefault(given: unknown, algorithms: StoreAbilities['algorithms'], path: string): void {
  const names = windowAlgorithms.filter((name) => implementations[name].name === name)
  const supported = names.filter((name) => algorithms?.includes(name) ?? true)
  if (supported.includes(given as AlgorithmName)) return
  if (supported.length === 0)
    refuse(path, given, 'nothing, since limits name each of its `algorithms` by their window')
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

/** The first algorithm of these limits that the store does not support; undefined when it supports all. */
export function unsupportedBy(
  { algorithms }: StoreAbilities,
  { limits }: LimitSet,
): AlgorithmName | undefined {
  if (!algorithms) return undefined
  return limits.map(({ algorithm }) => algorithm).find((name) => !algorithms.includes(name))
}

const ofClients = processWide('spaces of clients', () => new WeakMap<object, Map<string, object>>())
const ofServers = processWide('spaces of servers', () => new Map<string, Map<string, object>>())

/**
 * Identifies the keys of one client, or of servers by their addresses, under one prefix. Stores with the same object use the same
 * keys.
 */
export function spaceOf(where: object | string, prefix: string): object {
  const ofClient = (typeof where === 'string' ? ofServers.get(where) : ofClients.get(where)) ?? new Map()
  if (typeof where === 'string') ofServers.set(where, ofClient)
  else ofClients.set(where, ofClient)
  const space = ofClient.get(prefix) ?? {}
  ofClient.set(prefix, space)
  return space
}
