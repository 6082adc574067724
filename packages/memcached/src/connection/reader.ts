const LINE_END = '\r\n'
/** Whatever sends more bytes than this without ending a reply is not Memcached. */
const LONGEST = 65_536

/** Divides what a server sends into replies. */
export class Reader {
  #rest = ''
  #at = 0

  /** Adds what has arrived. */
  push(chunk: Buffer): void {
    this.#rest =
      this.#at < this.#rest.length
        ? this.#rest.slice(this.#at) + chunk.toString('latin1')
        : chunk.toString('latin1')
    this.#at = 0
  }

  get isEmpty(): boolean {
    return this.#at >= this.#rest.length
  }

  get isTooLong(): boolean {
    return this.#rest.length - this.#at > LONGEST
  }

  /** The next line, without its end; undefined until all of it has arrived. */
  line(): string | undefined {
    const end = this.#rest.indexOf(LINE_END, this.#at)
    if (end < 0) return undefined
    const line = this.#rest.slice(this.#at, end)
    this.#at = end + LINE_END.length
    return line
  }

  /** Goes back to the beginning of a reply that has not all arrived. */
  back(line: string): void {
    this.#at -= line.length + LINE_END.length
  }

  /** The value of a reply `VA length`; undefined until all of it has arrived. */
  value(line: string): string | undefined {
    const length = Number.parseInt(line.slice('VA '.length), 10)
    const end = this.#at + length
    if (this.#rest.length < end + LINE_END.length) return undefined
    const value = this.#rest.slice(this.#at, end)
    this.#at = end + LINE_END.length
    return value
  }
}
