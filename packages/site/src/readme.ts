/** What the home page shows of the README. */
export interface Readme {
  /** The first paragraph, in markdown. */
  readonly summary: string
  /** The first program, as a fenced block. */
  readonly program: string
  /** The table that compares Tollgate with other packages, in markdown; undefined if there is none. */
  readonly comparison: string | undefined
  /** The first picture of docs/pictures; undefined if there is none. */
  readonly picture: { readonly name: string; readonly alt: string } | undefined
}

/** A table of a page: the texts of its cells, in markdown. */
export interface Table {
  /** What heads each column; empty for one that says what a row is about. */
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Reads a table of markdown. */
export function tableOf(markdown: string): Table {
  const [columns = [], , ...rows] = markdown
    .trim()
    .split('\n')
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  return { columns, rows }
}

/** @throws {Error} when the README has no paragraph or no program to begin with */
export function readmeOf(text: string): Readme {
  const [, summary] = /^# .+\n+([^#`|![<\s][\s\S]*?)\n\n/m.exec(text) ?? []
  const [program] = /^```js\n[\s\S]*?^```$/m.exec(text) ?? []
  if (summary === undefined || program === undefined) {
    throw new Error('README.md must begin with a paragraph and have a program in JavaScript')
  }
  const tables = text.match(/(?:^\|.*\|\n)+/gm) ?? []
  const comparison = tables.find((table) => /^\|.*express-rate-limit.*\|\n/.test(table))
  const [, alt, name] = /!\[([^\]]+)\]\(docs\/pictures\/([^)]+)\)/.exec(text) ?? []
  const picture = alt === undefined || name === undefined ? undefined : { name, alt }
  return { summary: summary.replaceAll('\n', ' '), program, comparison, picture }
}
