import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import {
  defineConfig,
  type DefaultTheme,
  type MarkdownEnv,
  type MarkdownRenderer,
  type UserConfig,
} from 'vitepress'
import { addressOf, anchorOf, deadLinksIn, fileFor, GITHUB, siteLink } from './links.ts'
import { writeForModels } from './llms.ts'
import { INDEX, navigationOf, type Section } from './navigation.ts'
import { dressPictures } from './pictures.ts'
import { readmeOf } from './readme.ts'

/** The repository. The site is always built from there. */
const root = resolve(process.cwd())
const here = join(root, 'packages/site')
const sections = navigationOf(root)
const { summary } = readmeOf(readFileSync(join(root, 'README.md'), 'utf8'))

const font = (name: string): string =>
  join(here, `node_modules/@fontsource-variable/${name}/files/${name}-latin-wght-normal.woff2`)
const FONTS = { text: font('schibsted-grotesk'), code: font('jetbrains-mono') }

/** What other packages and pages make for the site: folders of the repository, and where they stand on the site. */
const COPIES = [
  { from: 'packages/playground/dist', to: 'playground' },
  { from: 'docs/pictures', to: 'pictures' },
]
const hasPlayground = existsSync(join(root, 'packages/playground/dist/index.html'))

export const config: UserConfig<DefaultTheme.Config> = defineConfig({
  title: 'Tollgate',
  description: summary.replaceAll(/[`*]|\[|\]\([^)]*\)/g, ''),
  lang: 'en',
  srcDir: '../..',
  // Only docs and the home page are pages.
  srcExclude: [
    '*.md',
    'packages/site/{src,test}/**',
    'examples/**',
    'packages/!(site)/**',
    'tools/**',
    '.*/**',
    'packed/**',
  ],
  rewrites: (page) => fileFor(page),
  outDir: join(here, 'dist'),
  cacheDir: join(here, 'node_modules/.cache/vitepress'),
  cleanUrls: true,
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }],
    ['meta', { name: 'theme-color', content: '#ffffff', media: '(prefers-color-scheme: light)' }],
    ['meta', { name: 'theme-color', content: '#0e1413', media: '(prefers-color-scheme: dark)' }],
  ],
  vite: {
    publicDir: join(here, 'public'),
    build: { chunkSizeWarningLimit: 3000 },
    resolve: {
      alias: [{ find: /^.*\/VPLocalSearchBox\.vue$/, replacement: join(here, 'src/theme/SearchBox.vue') }],
    },
  },
  markdown: {
    // Pages are written for GitHub: nothing means more here than there.
    attrs: false,
    container: false,
    emoji: false,
    include: false,
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-default' },
    config: asOnGitHub,
  },
  themeConfig: {
    siteTitle: 'Tollgate',
    nav: topOf(sections),
    sidebar: sidebarOf(sections),
    outline: { level: [2, 3], label: 'On this page' },
    search: {
      provider: 'local',
      // With the text, results show where a word stands.
      options: {
        miniSearch: { options: { storeFields: ['title', 'titles', 'text'] } as object },
        _render: async (source, env, md) => searchable(await md.renderAsync(source, env), env),
      },
    },
    socialLinks: [{ icon: 'github', link: GITHUB, ariaLabel: 'Tollgate on GitHub' }],
    editLink: { pattern: `${GITHUB}/edit/main/:path`, text: 'Edit this page on GitHub' },
    docFooter: { prev: 'Before', next: 'Next' },
    externalLinkIcon: false,
  },
  transformPageData(page) {
    const link = addressOf(page.filePath)
    const section = sections.find(({ entries }) => entries.some((entry) => entry.link === link))
    const entry = section?.entries.find((one) => one.link === link)
    const above = section && { title: section.title, link: `${addressOf(INDEX)}#${anchorOf(section.title)}` }
    if (hasWideTable(readFileSync(join(root, page.filePath), 'utf8'))) {
      page.frontmatter = { ...page.frontmatter, aside: false, pageClass: 'wide' }
    }
    return { description: entry?.description || page.description, section: above }
  },
  buildEnd({ outDir }) {
    for (const { from, to } of COPIES) {
      if (existsSync(join(root, from))) cpSync(join(root, from), join(outDir, to), { recursive: true })
    }
    dressPictures(outDir, FONTS)
    writeForModels(root, outDir, summary)
    const dead = deadLinksIn(outDir)
    if (dead.length > 0) throw new Error(`Dead links:\n${dead.join('\n')}`)
  },
})

/** Whether a page has a table of more columns than fit beside the outline. */
function hasWideTable(text: string): boolean {
  return /^\|(?:[^|\n]*\|){6,}$/m.test(text)
}

/** What the search finds in a page: no labels of code, and a space where a block ends. */
function searchable(html: string, { frontmatter }: MarkdownEnv): string {
  if (frontmatter?.['search'] === false) return ''
  return html
    .replaceAll(/<span class="lang">[^<]*<\/span>/g, '')
    .replaceAll(/<\/(?:p|li|t[dhr]|pre|div|summary)>/g, '$& ')
}

function topOf([first]: readonly Section[]): DefaultTheme.NavItem[] {
  const start = first?.entries[0]
  return [
    ...(start === undefined ? [] : [{ text: 'Start', link: start.link, activeMatch: 'none' }]),
    { text: 'All pages', link: addressOf(INDEX) },
    // The playground is a page of its own, so the browser has to load it.
    ...(hasPlayground ? [{ text: 'Playground', link: '/playground/', target: '_self' }] : []),
  ]
}

function sidebarOf(all: readonly Section[]): DefaultTheme.SidebarItem[] {
  return all.map(({ title, entries }, i) => ({
    text: title,
    collapsed: i > 1,
    items: entries.map(({ title: text, link }) => ({ text, link })),
  }))
}

/** Renders what a page means on GitHub: its links lead to files, and its braces are no templates. */
function asOnGitHub(md: MarkdownRenderer): void {
  md.core.ruler.after('inline', 'tollgate_links', ({ env, tokens }) => {
    const file: string | undefined = env.realPath ?? env.path
    // A title alone has no links.
    if (file === undefined) return
    const page = relative(root, file).replaceAll('\\', '/')
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href =
        token.type === 'link_open' && token.attrGet('class') !== 'header-anchor' && token.attrGet('href')
      if (href) token.attrSet('href', siteLink(root, page, decodeURI(href)))
    }
  })
  // An empty cell heads no column.
  md.core.ruler.after('inline', 'tollgate_headers', ({ tokens }) => {
    for (const [i, { type, content }] of tokens.entries()) {
      const [before, after] = [tokens[i - 1], tokens[i + 1]]
      if (type !== 'inline' || content !== '' || before?.type !== 'th_open' || after === undefined) continue
      before.tag = after.tag = 'td'
    }
  })
  const text = md.renderer.rules.text
  md.renderer.rules.text = (...args) => text?.(...args).replaceAll('{{', '&#123;&#123;') ?? ''
}
