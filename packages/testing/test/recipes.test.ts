// docs/recipes: an index of questions, and under each heading one program that answers it, a few sentences, and where to
// read on. shown-answers.deep.test.ts runs the programs.
import { anchorsOf, blocksOf, linksOf, pages, textOf } from './docs-pages.ts'
import { isServer, shownProgramsOf } from './shown-answers.ts'

const INDEX = 'docs/recipes/README.md'
const recipePages = pages.filter((page) => page.startsWith('docs/recipes/') && page !== INDEX)

/** The recipes of a page: the text under each heading. */
const recipesOf = (page: string): { readonly heading: string; readonly text: string }[] =>
  textOf(page)
    .split(/^## /m)
    .slice(1)
    .map((text) => ({ heading: text.slice(0, text.indexOf('\n')), text: text.slice(text.indexOf('\n')) }))
const recipes = recipePages.flatMap((page) => recipesOf(page).map((recipe) => ({ page, ...recipe })))

/** The sentences of a recipe, without those that only say where to read on. */
function sentencesOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '').replace(/\bMore:\s[\s\S]*$/, '')
  return prose
    .replace(/`[^`]*`/g, 'x')
    .replace(/\]\([^)]*\)/g, ']')
    .split(/(?<=[.?!])\s+/)
    .filter((sentence) => /\w/.test(sentence))
}

test('there are forty recipes at least, and the index links to each of them', () => {
  expect(recipes.length).toBeGreaterThanOrEqual(40)
  const linked = linksOf(textOf(INDEX)).filter((link) => /^[^/]+#/.test(link))
  const headings = recipePages.flatMap((page) =>
    anchorsOf(textOf(page))
      .slice(1)
      .map((anchor) => `${page.split('/').at(-1)}#${anchor}`),
  )
  expect(linked.toSorted()).toEqual(headings.toSorted())
})

test.each(recipes.map((recipe) => [recipe.heading, recipe] as const))('%s', (_, { page, text }) => {
  expect(blocksOf(page, text)).toHaveLength(1)
  expect(linksOf(text).length).toBeGreaterThan(0)
  const { length } = sentencesOf(text)
  expect(length).toBeGreaterThanOrEqual(2)
  expect(length).toBeLessThanOrEqual(5)
})

test('the answer of every recipe is checked: by requests, by what it prints, or because it is a test', () => {
  const programs = recipePages.flatMap((page) => shownProgramsOf(page, textOf(page)))
  const unchecked = programs.filter(
    (program) =>
      !(isServer(program) ? program.tries.length > 0 : program.prints.length > 0) &&
      !program.code.includes("from 'node:test'"),
  )
  expect(unchecked.map(({ page, line }) => `${page}:${line}`)).toEqual([])
})

const shownBy = (line: string): unknown =>
  shownProgramsOf('page', `\`\`\`js\napp.listen(3000)\n\`\`\`\n\n\`\`\`sh\n${line}\n\`\`\`\n`)[0]?.tries[0]

test('a curl line is read with its answers, one after another', () => {
  const line = `curl -i 'localhost:3000/a?b=1' -H 'x-api-key: k' -d '{}'   # 200 {"a":[1]}, then 200 twice, then 429 with Retry-After: 60`
  expect(shownBy(line)).toEqual({
    line,
    path: '/a?b=1',
    init: { method: 'POST', headers: [['x-api-key', 'k']], body: '{}' },
    answers: [
      { status: 200, body: '{"a":[1]}' },
      { status: 200 },
      { status: 200 },
      { status: 429, header: ['Retry-After', '60'] },
    ],
  })
})

test('answers may stand on the line below', () => {
  const [command, answers] = ['curl localhost:3000/a', '# 200, then 429']
  expect(shownBy(`${command}\n${answers}`)).toEqual(shownBy(`${command} ${answers}`))
})

test.each([
  ['curl -k localhost:3000/ # 200', 'cannot send -k'],
  ['curl -i # 200', 'no address'],
  ['curl localhost:3000/', 'shows no answer'],
  ['curl localhost:3000/ # ok', 'shows no answer'],
  ['curl localhost:3000/ # 200 often times', 'how often'],
])('%s is refused', (line, why) => {
  expect(() => shownBy(line)).toThrow(why)
})
