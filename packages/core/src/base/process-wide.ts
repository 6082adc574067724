/**
 * A value that the whole process shares. A process can load both the ESM and the CommonJS build, and then has two
 * copies of each module, but still one of this value.
 *
 * @param name identifies the value: the first call with a name makes it, later calls return the same
 */
export function processWide<T>(name: string, make: () => T): T {
  const key = Symbol.for(`@tollgate/core: ${name}`)
  const all = globalThis as { [shared: symbol]: unknown }
  return (all[key] ??= make()) as T
}
