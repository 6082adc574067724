/** The names of all properties of an object, its own and those of its classes. */
export function namesOf(object: object): string[] {
  const names = new Set<string>()
  for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name)
  }
  return [...names]
}
