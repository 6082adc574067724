// AGENTS.md tells models how to write code with a package. Its programs are run and type-checked with those of all pages;
// here its facts are held to core.
import { createLimiter, type Decision } from '@tollgate/core'
import { LIMITER_OPTIONS, ONLY_HTTP_OPTIONS } from '../../core/src/limiter/options/limiter-options.js'
import { blocksOf, textOf } from './docs-pages.ts'

const INSTALLED = ['core', 'express', 'fastify', 'koa']
const agents = (name: string): string => textOf(`packages/${name}/AGENTS.md`)
const codesIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)

/** A fact of core's list, by its number. */
function fact(number: number): string {
  const [, text = ''] =
    new RegExp(`^${number}\\. ([\\s\\S]*?)\\n(?:\\d+\\.|\\n)`, 'm').exec(agents('core')) ?? []
  return text
}

test.each(INSTALLED)('%s: is published with its AGENTS.md, which has a program', (name) => {
  expect(JSON.parse(textOf(`packages/${name}/package.json`)).files).toContain('AGENTS.md')
  expect(agents(name).split('\n')[0]).toBe(`# Writing code with @tollgate/${name}`)
  expect(blocksOf(name, agents(name)).length).toBeGreaterThan(0)
})

test('the limits that it shows are limits, and m is no unit', () => {
  const limits = codesIn(fact(2)).filter((code) => /^'.*'$/.test(code))
  expect(limits.length).toBeGreaterThan(4)
  for (const limit of limits) createLimiter({ limit: limit.slice(1, -1) })
  for (const unit of ['ms', 's', 'min', 'h', 'd', 'week', 'month']) {
    expect(codesIn(fact(2))).toContain(unit)
    createLimiter({ limit: `100/${unit}` })
  }
  expect(() => createLimiter({ limit: '100/m' })).toThrow("got '100/m'")
})

test('the options that it denies do not exist, and those that it names do', () => {
  const [none = '', instead = ''] = fact(3).split('Write ')
  expect(codesIn(none).length).toBeGreaterThan(5)
  for (const name of codesIn(none)) {
    expect(() => createLimiter({ limit: '100/min', [name]: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG' }),
    )
  }
  const options = [...LIMITER_OPTIONS, ...ONLY_HTTP_OPTIONS]
  expect(codesIn(instead).length).toBeGreaterThan(3)
  expect(codesIn(instead).filter((name) => !options.includes(name))).toEqual([])
})

test('a denial has the fields that it names', async () => {
  const limiter = createLimiter({ limit: '1/min' })
  await limiter.consume('acme')
  const denial: Decision = await limiter.consume('acme')
  expect(denial.allowed).toBe(false)
  const [fields = ''] = codesIn(fact(4)).filter((code) => code.startsWith('{'))
  const names = fields.match(/\w+/g) ?? []
  expect(names).toContain('retryAfterMs')
  for (const name of names) expect(denial).toHaveProperty(name)
})
