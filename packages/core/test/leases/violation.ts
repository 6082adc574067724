/** A law that does not hold. */
export class Violation extends Error {
  readonly law: string

  constructor(law: string, what: string) {
    super(`${law}: ${what}`)
    this.law = law
  }
}
