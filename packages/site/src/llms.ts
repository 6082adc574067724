import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileFor, siteLink } from './links.ts'
import { navigationOf, pagesOf } from './navigation.ts'

/**
 * Writes what language models read: each page as markdown beside its HTML, `llms.txt` with a line for each page, and
 * `llms-full.txt` with the text of all.
 *
 * @param root   the repository's folder
 * @param folder the built site
 */
export function writeForModels(root: string, folder: string, summary: string): void {
  const texts = new Map(pagesOf(root).map((page) => [fileFor(page), textOf(root, page)]))
  for (const [file, text] of texts) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  const sections = navigationOf(root)
  const lists = sections.map(({ title, entries }) => {
    const lines = entries.map(({ title: name, link, description }) => {
      return `- [${name}](${markdownLink(link)})${description === '' ? '' : `: ${description}`}`
    })
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  const head = `# Tollgate\n\n> ${summary}\n`
  writeFileSync(join(folder, 'llms.txt'), [head, ...lists].join('\n'))
  const files = sections.flatMap(({ entries }) =>
    entries.map(({ link }) => markdownLink(link).split('#')[0]?.slice(1) ?? ''),
  )
  const inOrder = [...new Set(files)].flatMap((file) => {
    const text = texts.get(file)
    return text === undefined ? [] : [`<!-- /${file} -->\n\n${text}`]
  })
  writeFileSync(join(folder, 'llms-full.txt'), [head, ...inOrder].join('\n\n---\n\n'))
}

/** A page with links that work on the site. Code is left as it is. */
function textOf(root: string, page: string): string {
  const text = readFileSync(join(root, page), 'utf8')
  return text
    .split(/(^```[\s\S]*?^```$|`[^`\n]+`)/m)
    .map((part, i) =>
      i % 2 === 1
        ? part
        : part.replace(
            /(?<!!)\]\(([^)\s]+)\)/g,
            (_, link: string) => `](${markdownLink(siteLink(root, page, link))})`,
          ),
    )
    .join('')
}

function markdownLink(link: string): string {
  if (!link.startsWith('/')) return link
  return link.replace(/^[^#]+/, (path) => (path.endsWith('/') ? `${path}index.md` : `${path}.md`))
}
