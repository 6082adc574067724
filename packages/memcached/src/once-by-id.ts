/** What is under way in this process, by its id: a repetition that comes meanwhile gets the answer of the first. */
export class OnceById<T> {
  readonly #underWay = new Map<string, Promise<T>>()

  /** @param id undefined: it can be done any number of times */
  do(id: string | undefined, work: () => Promise<T>): Promise<T> {
    if (id === undefined) return work()
    const underWay = this.#underWay.get(id)
    if (underWay) return underWay
    const begun = work().finally(() => this.#underWay.delete(id))
    this.#underWay.set(id, begun)
    return begun
  }
}
