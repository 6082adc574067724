import type { Host } from '../host.js'
import { tableOf, wrapped, type Cell, type Column, type Paint, type Style } from './table.js'

const CODES: Readonly<Record<Style, number>> = { strong: 1, faint: 2, good: 32, bad: 31, odd: 33 }

/** Lines longer than that are hard to read, however wide the terminal. */
const WIDEST = 120

/** What a command says: text for people, or with `--json` one JSON value for programs. */
export class Output {
  readonly isJson: boolean
  /** Of the terminal, in characters; undefined in a pipe. */
  readonly width: number | undefined
  readonly #host: Host
  readonly #isPainted: boolean

  constructor(host: Host, isJson: boolean) {
    const { stdout, env } = host
    this.#host = host
    this.isJson = isJson
    this.width = stdout.isTTY ? widthIn(stdout.columns) : undefined
    this.#isPainted = stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  }

  readonly paint: Paint = (style, text) =>
    this.#isPainted && text !== '' ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text

  /** A line for people. With `--json` there is none. */
  line(text = ''): void {
    if (!this.isJson) this.#host.stdout.write(`${text}\n`)
  }

  /** Sentences for people, in lines that fit. */
  say(text: string, indent = ''): void {
    for (const line of this.linesIn(text, indent.length)) this.line(indent + line)
  }

  /** The lines of sentences. */
  linesIn(text: string, indent = 0): readonly string[] {
    return this.width === undefined ? [text] : wrapped(text, this.width - indent)
  }

  /** Sentences that belong to no answer, such as an announcement. With `--json` they go to stderr, so that stdout is one value. */
  note(text: string): void {
    if (this.isJson) this.#host.stderr.write(`${text}\n`)
    else this.say(text)
  }

  table(columns: readonly Column[], rows: readonly (readonly Cell[])[]): void {
    for (const line of this.linesOf(columns, rows)) this.line(line)
  }

  /** The lines of a table, for what is written in one piece. */
  linesOf(columns: readonly Column[], rows: readonly (readonly Cell[])[]): readonly string[] {
    return tableOf(columns, rows, this)
  }

  /** Why there is no answer, and what to type instead. */
  error(message: string, hint: string | undefined): void {
    const { isTTY, columns } = this.#host.stderr
    const width = isTTY ? widthIn(columns) : Infinity
    for (const text of hint === undefined ? [message] : [message, hint])
      this.#host.stderr.write(`${wrapped(text, width).join('\n')}\n`)
  }

  /** The answer for programs. Without `--json` there is none. */
  json(value: unknown): void {
    if (this.isJson) this.#host.stdout.write(`${escaped(JSON.stringify(value, undefined, 2))}\n`)
  }
}

/** Of the text on a terminal with so many columns. */
function widthIn(columns = 80): number {
  return Math.max(40, Math.min(columns, WIDEST))
}

/** JSON leaves some signs as they are that a terminal obeys, or that turn the direction of text. */
function escaped(json: string): string {
  return json.replace(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, (sign) =>
    [...Array(sign.length).keys()]
      .map((i) => `\\u${sign.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
