// The entries of changes in .changeset, and CHANGELOG.md, which they go to.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { publishedFolders, root } from './workspace.mjs'

/** The kinds of change, the one that asks most of users first. */
export const KINDS = ['major', 'minor', 'patch']

/**
 * The changes that are not released yet.
 *
 * @returns for each `{ file, packages, kind, text }`: its packages without `@tollgate/`, and the largest kind of change of any of them
 * @throws if a file is not such as `npx changeset` writes them
 */
export function pendingChanges(workspace) {
  const folder = join(workspace, '.changeset')
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => /(?<!^README)\.md$/.test(name)) : []
  const published = publishedFolders.map((one) => basename(one))
  return files.sort().flatMap((name) => {
    const file = join(folder, name)
    const [, head = '', text = ''] =
      /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(linesOf(readFileSync(file, 'utf8'))) ?? []
    // What `npx changeset --empty` writes, for a change without news.
    if (/^---\s+---\s*$/.test(linesOf(readFileSync(file, 'utf8')))) return []
    const lines = [...head.matchAll(/^["']?@tollgate\/([\w-]+)["']?: *(major|minor|patch)$/gm)]
    if (lines.length === 0 || lines.length !== head.split('\n').length || text.trim() === '')
      throw new Error(`.changeset/${name}: write it with npx changeset`)
    const unknown = lines.map(([, one]) => one).find((one) => !published.includes(one))
    if (unknown) throw new Error(`.changeset/${name}: @tollgate/${unknown} is not published`)
    const kinds = lines.map(([, , kind]) => kind)
    const kind = KINDS.find((one) => kinds.includes(one))
    return [{ file, packages: lines.map(([, one]) => one), kind, text: text.trim() }]
  })
}

/** A text with the line ends of Unix, and without a byte order mark. */
const linesOf = (text) => text.replace(/^\uFEFF/, '').replace(/\r\n?|[\u2028\u2029]/g, '\n')

/** The changelog with a section for a new version on top of the others. */
export function withSection(changelog, version, changes) {
  const parts = KINDS.flatMap((kind) => {
    const entries = changes.filter((change) => change.kind === kind).map(entryOf)
    return entries.length > 0
      ? [`### ${kind[0].toUpperCase()}${kind.slice(1)} Changes\n\n${entries.join('')}\n`]
      : []
  })
  const at = changelog.search(/^## /m)
  return `${changelog.slice(0, at)}## ${version}\n\n${parts.join('')}${changelog.slice(at)}`
}

const entryOf = ({ packages, text }) => `- ${packages.join(', ')}: ${text.replace(/\n(?=.)/g, '\n  ')}\n`

/** The title of the newest section of the changelog, and its text. */
export function newestSection(changelog) {
  const [, title = '', text = ''] = /^## (.*)\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(changelog) ?? []
  return { title, text: text.trim() }
}

const HOME = 'https://github.com/tollgate-js/tollgate/blob/main'

// node tools/changelog.mjs prints the newest section as the text of a release, where relative links lead nowhere.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { text } = newestSection(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'))
  process.stdout.write(`${text.replace(/\]\((?!https?:)/g, `](${HOME}/`)}\n`)
}
