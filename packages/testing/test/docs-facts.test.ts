// Checks that the tables of docs agree with the code.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createLimiter, toHttpResponse, type Decision } from '@tollgate/core'
import { createLimitSet } from '@tollgate/core/store'
import express from 'express'
import { rateLimit as expressRateLimit } from 'express-rate-limit'
import { serveHandler } from '../src/index.ts'
import { blocksOf, pages, root, textOf } from './docs-pages.ts'

/** The cells of each row of the table under a heading. */
function tableOf(page: string, heading: string): string[][] {
  const [, section = ''] = textOf(page).split(`\n${heading}\n`)
  const [table = ''] = /(?:^\|.*\n)+/m.exec(section) ?? []
  const rows = table.trim().split('\n').slice(2)
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const codeIn = (cell = ''): string[] => [...cell.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)

test('every word for a unit of time works, and the words of a row mean the same', () => {
  const rows = tableOf('docs/guides/plans-and-limits.md', '### Units of time').map(([, words]) =>
    codeIn(words),
  )
  expect(rows.flat()).toHaveLength(23)
  for (const words of rows) {
    const ids = words.map((word) => createLimitSet(`5/${word.toUpperCase()}`).limits[0]?.stateId)
    expect(new Set(ids).size).toBe(1)
  }
  expect(() => createLimitSet('5/m')).toThrow("'5/min' or '5/month'")
})

test('every way to write a limit works, and gives the algorithm of its row', () => {
  const rows = tableOf('docs/guides/plans-and-limits.md', '## How a limit is written')
  const texts = rows.flatMap(([written, , algorithm]) =>
    codeIn(written).flatMap((code) => (/^'\d/.test(code) ? [[code.slice(1, -1), algorithm] as const] : [])),
  )
  expect(texts.length).toBeGreaterThan(5)
  const names: Record<string, string> = {
    'calendar-window': 'fixed window',
    concurrent: 'requests in flight',
  }
  for (const [text, algorithm] of texts) {
    const used = createLimitSet(text).limits[0]?.algorithm ?? ''
    expect([text, names[used] ?? used.replace('-', ' ')]).toEqual([text, algorithm])
  }
})

test('every file that ARCHITECTURE.md names exists', () => {
  const named = codeIn(textOf('ARCHITECTURE.md').replace(/^```[\s\S]*?^```$/gm, '')).filter((code) =>
    /^[\w./-]+\.(ts|lua)$/.test(code),
  )
  expect(named.length).toBeGreaterThan(20)
  const isThere = (path: string): boolean =>
    ['', 'packages/core/src', 'packages/core/test'].some((folder) => existsSync(join(root, folder, path)))
  expect(named.filter((path) => !path.startsWith('NAME') && !isThere(path))).toEqual([])
})

test('docs/reference/header-drafts.md shows the headers that are sent', () => {
  const rows = tableOf('docs/reference/header-drafts.md', '## Which form Tollgate sends')
  const sentForms = rows.filter(([, , option = '']) => option.startsWith('`'))
  expect(sentForms).toHaveLength(3)
  const decision = createLimiter({ limit: ['50/s burst 100', '20000/min'] }).consume('acme') as Decision
  const byDefault = Object.keys(toHttpResponse(decision).headers)
  for (const [, shown, option = ''] of sentForms) {
    const [name = ''] = /\w+/.exec(option) ?? []
    const only = { standard: false, single: false, [name]: name === 'legacy' ? 'delta' : true }
    const sent = Object.entries(toHttpResponse(decision, { headers: only }).headers)
    expect(codeIn(shown)).toEqual(sent.map(([field, value]) => `${field}: ${value}`))
    expect(sent.every(([field]) => byDefault.includes(field))).toBe(option.endsWith('on by default'))
  }
})

test.each(['draft-6', 'draft-7'] as const)(
  'docs/reference/header-drafts.md says that %s has a RateLimit-Policy of the old form',
  async (standardHeaders) => {
    const app = express()
    app.use(expressRateLimit({ limit: 100, windowMs: 60_000, standardHeaders, legacyHeaders: false }))
    const { url, close } = await serveHandler(app)
    const sent = (await fetch(url)).headers.get('ratelimit-policy')
    await close()
    expect(sent).toBe('100;w=60')
    const [, first, last] =
      /^- Drafts (\d) to (\d) also have a `RateLimit-Policy`, in a form that draft 8 replaced\./m.exec(
        textOf('docs/reference/header-drafts.md'),
      ) ?? []
    const draft = Number(standardHeaders.at(-1))
    expect(draft).toBeGreaterThanOrEqual(Number(first))
    expect(draft).toBeLessThanOrEqual(Number(last))
  },
)

test('docs/compare/features.md tells the two drivers of koa-ratelimit apart', async () => {
  jest.useFakeTimers()
  const MemoryLimiter = require('koa-ratelimit/limiter/memory.js')
  const limiter = new MemoryLimiter({ id: 'a', max: 100, duration: 60_000 })
  let passed = 0
  for (const [waitMs, asked] of [
    [0, 1],
    [59_000, 100],
    [2000, 100],
  ] as const) {
    jest.advanceTimersByTime(waitMs)
    for (let i = 0; i < asked; i += 1) if ((await limiter.get()).remaining > 0) passed += 1
  }
  jest.useRealTimers()
  // The first came a minute before.
  expect(passed - 1).toBe(199)
  const rows = tableOf('docs/compare/features.md', '## What is counted')
  const ofKoa = (name: string): string | undefined =>
    rows.find(([first = '']) => first.includes(name))?.at(-2)
  expect(ofKoa('algorithms')).toMatch(/log.*; in memory \[a fixed window\]/)
  expect(ofKoa('around the end of a window')).toBe('100; in memory 199')
})

test('docs/compare/features.md is about the versions that its tests and benchmarks run', () => {
  const { devDependencies } = JSON.parse(textOf('packages/testing/package.json')) as {
    devDependencies: Record<string, string>
  }
  const text = textOf('docs/compare/features.md')
  const others = [
    'express-rate-limit',
    'rate-limit-redis',
    'rate-limiter-flexible',
    '@fastify/rate-limit',
    'koa-ratelimit',
  ]
  for (const name of others) {
    const named = [...text.matchAll(new RegExp(`(?:^|[ /])${name}(?: |@|/v/)(\\d+\\.\\d+\\.\\d+)`, 'gm'))]
    expect(new Set(named.map(([, version]) => `${name} ${version}`))).toEqual(
      new Set([`${name} ${devDependencies[name]}`]),
    )
  }
})

test('programs register the Fastify plugin with await, since routes that follow would else be declared before it', () => {
  const lines = pages
    .flatMap((page) => blocksOf(page, textOf(page)))
    .flatMap(({ page, code }) => code.split('\n').map((line) => `${page}: ${line.trim()}`))
    .filter((line) => /\.register\((rateLimit|tollgate)\b/.test(line))
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.filter((line) => !/: (await|return) /.test(line))).toEqual([])
})

test('the error message on docs/reference/errors.md is the real one', () => {
  const [, shown] = /^```\n(plans\..*)\n```$/m.exec(textOf('docs/reference/errors.md')) ?? []
  expect(() => createLimiter({ plans: { free: ['100/fortnight'] } })).toThrow(
    expect.objectContaining({ message: shown }),
  )
})

test('the README begins with five lines of code, and docs/start/1-first-429.md with as many as docs/README.md says', () => {
  const linesOf = (page: string): number =>
    blocksOf(page, textOf(page))[0]
      ?.code.split('\n')
      .filter((line) => line.trim() !== '').length ?? 0
  expect(linesOf('README.md')).toBe(5)
  const [, count] = /1-first-429\.md\): (\w+) lines/.exec(textOf('docs/README.md')) ?? []
  expect(count).toBe(
    ['none', 'one', 'two', 'three', 'four', 'five', 'six'][linesOf('docs/start/1-first-429.md')],
  )
})
