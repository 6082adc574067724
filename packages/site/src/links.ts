import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'

/** The project's address. What the site does not render is shown there. */
export const GITHUB = 'https://github.com/tollgate-js/tollgate'

/** The address on the site of a page of docs, given as a path from the repository's root. */
export function addressOf(page: string): string {
  return `/${fileFor(page).replace(/(^|\/)index\.md$|\.md$/, '$1')}`
}

/** The path below the site's root of a page, given as a path from the repository's root. */
export function fileFor(page: string): string {
  if (page === 'packages/site/home.md') return 'index.md'
  if (page === 'docs/README.md') return 'docs.md'
  return page.replace(/^docs\//, '').replace(/README\.md$/, 'index.md')
}

/**
 * Where a link leads on the site: to a page of docs there, to any other file of the repository on GitHub.
 *
 * @param root  the repository's folder
 * @param page  the page with the link, as a path from `root`
 * @param given the link as written
 * @throws {Error} when the repository has no such file
 */
export function siteLink(root: string, page: string, given: string): string {
  const [, ofProject] = new RegExp(`^${GITHUB}/(?:blob|tree)/main/(.+)$`).exec(given) ?? []
  if (ofProject === undefined && /^([a-z]+:|#)/.test(given)) return given
  const [path = '', anchor] = (ofProject ?? given).split('#')
  const folder = ofProject === undefined ? posix.dirname(page) : '.'
  const target = posix.join(folder, path).replace(/\/$/, '')
  if (target.startsWith('..') || !existsSync(join(root, target))) {
    throw new Error(`${page}: the link ${given} leads to no file`)
  }
  const hash = anchor === undefined ? '' : `#${anchor}`
  if (/^docs\/.*\.md$/.test(target)) return addressOf(target) + hash
  const kind = statSync(join(root, target)).isDirectory() ? 'tree' : 'blob'
  return `${GITHUB}/${kind}/main/${target}${hash}`
}

/** The anchor of a heading, as GitHub makes it, so that links work in both places. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** What is wrong with the links of a built site: files and anchors that are not there. */
export function deadLinksIn(folder: string): string[] {
  const pages = readdirSync(folder, { recursive: true })
    .map((name) => String(name).replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.html'))
  const html = new Map(pages.map((page) => [page, readFileSync(join(folder, page), 'utf8')]))
  const ids = new Map([...html].map(([page, text]) => [page, new Set(attributes(text, 'id'))]))
  // The address makes no difference: it only gives relative links a host.
  const host = 'http://site.invalid'
  return [...html].flatMap(([page, text]) =>
    [...attributes(text, 'href'), ...attributes(text, 'src')].flatMap((link) => {
      const { origin, pathname, hash } = new URL(link, `${host}/${page}`)
      if (origin !== host) return []
      const target = fileOf(folder, decodeURIComponent(pathname).slice(1), page)
      if (target === undefined) return [`${page}: ${link} leads to no file`]
      const anchor = decodeURIComponent(hash.slice(1))
      const isThere = anchor === '' || !target.endsWith('.html') || ids.get(target)?.has(anchor)
      return isThere ? [] : [`${page}: ${link} leads to no heading`]
    }),
  )
}

/** The file that a server shows for a path; undefined if there is none. */
function fileOf(folder: string, path: string, page: string): string | undefined {
  if (path === page) return page
  const candidates = [path, `${path}.html`, posix.join(path, 'index.html')]
  return candidates.find((file) => existsSync(join(folder, file)) && statSync(join(folder, file)).isFile())
}

function attributes(html: string, name: string): string[] {
  const found = html.matchAll(new RegExp(`<[a-z][^<>]*?\\s${name}="([^"]*)"`, 'g'))
  return [...found].map(([, value = '']) => value.replaceAll('&amp;', '&'))
}
