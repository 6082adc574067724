import { existsSync, readFileSync } from 'node:fs'
import { createMarkdownRenderer, type SiteConfig } from 'vitepress'
import { navigationOf, type Entry } from '../navigation.ts'
import { readmeOf, tableOf, type Readme, type Table } from '../readme.ts'

/** What the home page is made from: the README, as HTML, and the pages to begin with. */
export interface HomeData {
  readonly summary: string
  readonly program: string
  /** With HTML in its cells. */
  readonly comparison: Table | undefined
  /** The pages to begin with. */
  readonly start: readonly Entry[]
  readonly picture: Readme['picture']
  readonly hasPlayground: boolean
}

declare const data: HomeData
export { data }

export default {
  async load(): Promise<HomeData> {
    const { VITEPRESS_CONFIG } = globalThis as unknown as { VITEPRESS_CONFIG: SiteConfig }
    const root = process.cwd()
    const md = await createMarkdownRenderer(root, VITEPRESS_CONFIG.markdown)
    const env = (): object => ({ path: `${root}/README.md`, relativePath: 'README.md', cleanUrls: true })
    const inHtml = (cells: readonly string[]): string[] => cells.map((cell) => md.renderInline(cell, env()))
    const { summary, program, comparison, picture } = readmeOf(readFileSync('README.md', 'utf8'))
    const table = comparison === undefined ? undefined : tableOf(comparison)
    return {
      summary: md.renderInline(summary, env()),
      program: await md.renderAsync(program, env()),
      comparison: table && { columns: inHtml(table.columns), rows: table.rows.map(inHtml) },
      start: navigationOf(root)[0]?.entries.slice(0, 5) ?? [],
      picture,
      hasPlayground: existsSync('packages/playground/dist/index.html'),
    }
  },
}
