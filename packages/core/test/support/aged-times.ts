/** Greater numbers are times in µs since 1970. */
const LEAST_TIME = 1e14
/** What `load` derives from what is kept. */
const DERIVED = /Now$|^now$|^shift$|^elapsed$/

/** Any value with ages in place of times, so that what is the same at two times reads the same. */
export function agedTimes(value: unknown, now: number): unknown {
  if (typeof value === 'number') return value > LEAST_TIME ? value - now : value
  if (value instanceof Map) return [...value].map((entry) => agedTimes(entry, now))
  if (Array.isArray(value)) return value.map((each) => agedTimes(each, now))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => !DERIVED.test(name))
  return Object.fromEntries(kept.map(([name, each]) => [name, agedTimes(each, now)]))
}

/** Names of leases in the order in which they appear, so that worlds that differ in them alone are the same. */
export function renamed(text: string): string {
  const names = new Map<string, string>()
  return text.replaceAll(/lease-\d-[\d_z]+/g, (id) => {
    const name = names.get(id) ?? `L${names.size}`
    names.set(id, name)
    return name
  })
}
