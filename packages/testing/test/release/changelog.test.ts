import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../docs-pages.ts'

/** What tools/changelog.mjs gives for a text. */
function newestSection(text: string): unknown {
  const program = `
    import { newestSection } from ${JSON.stringify(pathToFileURL(join(root, 'tools/changelog.mjs')).href)}
    console.log(JSON.stringify(newestSection(${JSON.stringify(text)})))`
  return JSON.parse(execFileSync('node', ['--input-type=module', '-e', program], { encoding: 'utf8' }))
}

test('the changelog begins with the version of the packages, or with one that is not released', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'))
  const { title, text } = Object(newestSection(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')))
  expect([version, `${version} (unreleased)`]).toContain(title)
  // GitHub takes a text of 125 000 characters for a release.
  expect(text.length).toBeLessThan(125_000)
  expect(text).not.toMatch(/^## /m)
})

test('the newest section ends where the one before begins', () => {
  const text =
    '# Changelog\n\nIntro.\n\n## 0.2.0\n\n### Minor Changes\n\n- core: One.\n\n## 0.1.0\n\nFirst.\n'
  expect(newestSection(text)).toEqual({ title: '0.2.0', text: '### Minor Changes\n\n- core: One.' })
  expect(newestSection('# Changelog\n\n## 0.1.0\n\nFirst.\n')).toEqual({ title: '0.1.0', text: 'First.' })
})

test('the text of a release has links that work outside of the repository', () => {
  const text = execFileSync('node', [join(root, 'tools/changelog.mjs')], { encoding: 'utf8' })
  const { text: written } = Object(newestSection(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')))
  expect(text.trim().length).toBeGreaterThanOrEqual(written.length)
  expect(text).not.toMatch(/\]\((?!https:)/)
})
