// What a page says of its programs: the answers behind or below each `curl` line below a program, and what `console.log` prints.
import { blocksOf, type Block } from './docs-pages.ts'

/** The answer that a page shows for a request. */
export interface Shown {
  readonly status: number
  readonly header?: readonly [name: string, value: string]
  /** The body as JSON. */
  readonly body?: string
}

/** A request that a page says to send, and its answers, one after another. */
export interface Try {
  readonly line: string
  readonly path: string
  readonly init: { readonly method: string; readonly headers: [string, string][]; readonly body?: string }
  readonly answers: readonly Shown[]
}

/** A program of a page, with what is said of it. */
export interface ShownProgram extends Block {
  readonly tries: readonly Try[]
  /** The whole last answer to these requests, as curl prints it; undefined where the page shows none. */
  readonly answer: string | undefined
  /** The lines that it prints, in order. */
  readonly prints: readonly string[]
}

/** Whether the programs of a page are held to the answers that it shows. */
export const showsAnswers = (page: string): boolean =>
  /^docs\/(?:start|recipes)\//.test(page) || page === 'docs/guides/rules.md'

/** Whether a program serves on the port 3000 that pages use. */
export const isServer = ({ code }: Block): boolean => /listen\(\D*3000/.test(code)

/**
 * The programs of a page. A server without `curl` lines of its own is asked by those above it, as a variant of that
 * program in another framework.
 */
export function shownProgramsOf(page: string, text: string): ShownProgram[] {
  const lines = text.split('\n')
  const blocks = blocksOf(page, text)
  let tries: Try[] = []
  return blocks.map((block, i) => {
    const end = (blocks[i + 1]?.line ?? lines.length + 1) - 1
    const below = lines.slice(block.line - 1 + block.code.split('\n').length, end).join('\n')
    const own = triesIn(below)
    if (own.length > 0) tries = own
    const [, answer] = /^```\n(HTTP\/[\s\S]*?)\n```$/m.exec(below) ?? []
    return { ...block, tries: isServer(block) ? tries : [], answer, prints: printsOf(block.code) }
  })
}

function triesIn(text: string): Try[] {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
  return (
    blocks
      // The answers stand behind the command, or on the line below it.
      .flatMap((code) => code.replaceAll('\n# ', ' # ').split('\n'))
      .filter((line) => line.startsWith('curl '))
      .map(readTry)
  )
}

const OPTIONS_WITHOUT_VALUE = ['-i', '-s', '-N']

/** @throws when a line has an option that this cannot send, or shows no answer */
function readTry(line: string): Try {
  const [, command = '', said = ''] = /^curl (.*?)(?: +# (.*))?$/.exec(line) ?? []
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
  const headers: [string, string][] = []
  let method: string | undefined
  let path: string | undefined
  let body: string | undefined
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (OPTIONS_WITHOUT_VALUE.includes(word)) continue
    if (word === '-X') method = words.shift()
    else if (word === '-d') body = words.shift()
    else if (word === '-H')
      headers.push(/^(.*?): (.*)$/.exec(words.shift() ?? '')?.slice(1) as [string, string])
    else if (word.startsWith('localhost:3000/')) path = word.slice('localhost:3000'.length)
    else throw new Error(`cannot send ${word}: ${line}`)
  }
  if (path === undefined) throw new Error(`no address on localhost:3000: ${line}`)
  const init = { method: method ?? (body === undefined ? 'GET' : 'POST'), headers, ...(body && { body }) }
  return { line, path, init, answers: answersIn(said, line) }
}

const TIMES = ['', 'once', 'twice', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

/** Reads `200 {"left":1}, then 200 twice, then 429 with Retry-After: 60`. */
function answersIn(said: string, line: string): Shown[] {
  return said.split(', then ').flatMap((one) => {
    const [, status, times, name, value, body] =
      /^(\d{3})(?: (twice|\w+(?= times)))?(?: times)?(?: with ([\w-]+): (.*)| ([{[].*))?$/.exec(one) ?? []
    if (status === undefined) throw new Error(`shows no answer: ${line}`)
    const count = times === undefined ? 1 : TIMES.indexOf(times)
    if (count < 1) throw new Error(`how often is ${times}? ${line}`)
    const shown = {
      status: Number(status),
      ...(name !== undefined && { header: [name, value ?? ''] as const }),
      ...(body !== undefined && { body }),
    }
    return new Array<Shown>(count).fill(shown)
  })
}

/**
 * The lines that a program says it prints: the comment behind a `console.log`, or the comments on the lines that follow
 * one. A program that leaves a `console.log` without such a comment says nothing about its output.
 */
function printsOf(code: string): string[] {
  const lines = code.split('\n')
  const prints = lines.map((line, i) => {
    if (!line.includes('console.log(')) return []
    const [, behind] = /console\.log\(.*\) \/\/ (.*)$/.exec(line) ?? []
    if (behind !== undefined) return [behind]
    const rest = lines.slice(i + 1)
    const end = rest.findIndex((one) => !/^ *\/\/ /.test(one))
    return rest.slice(0, end < 0 ? rest.length : end).map((one) => one.replace(/^ *\/\/ /, ''))
  })
  return prints.flat()
}
