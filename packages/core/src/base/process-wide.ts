/**
 * What all of a process shares: one value also where it has loaded both the ESM and the CommonJS build, each of which
 * has every module once.
 *
 * @param name says what it is; of one name there is one
 */
export function processWide<T>(name: string, make: () => T): T {
  const key = Symbol.for(`@tollgate/core: ${name}`)
  const all = globalThis as { [shared: symbol]: unknown }
  return (all[key] ??= make()) as T
}
