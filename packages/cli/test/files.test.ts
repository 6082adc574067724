// Commands that ask no Redis: why a request was denied, and whether a plans file is right.
import { denialReferences } from '@tollgate/core'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Application, acme } from './application.ts'
import { tollgate, type Ended } from './command-line.ts'

const SECRET = 'a secret of the references'
const app = new Application()

describe('why', () => {
  const references = denialReferences({ secret: SECRET })
  const ask = (reference: string, secret = SECRET, ...more: string[]): Promise<Ended> =>
    tollgate(['why', reference, ...more], { env: { TOLLGATE_SECRET: secret } })
  let reference: string
  beforeEach(async () => {
    for (let i = 0; i < 5; i += 1) await app.limiter.consume(acme)
    reference = references.of(await app.limiter.consume(acme))
  })

  test('says who was denied, by what, and when the request fits', async () => {
    const { code, stdout } = await ask(reference)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^acme on the plan free was denied at .* UTC: the limit hour was used up \(5 of 5 used, and the request costs 1 unit\)\./,
    )
    expect(stdout).toMatch(/It would have passed from .* UTC on \(.*later\)\.\nDecided by: Redis\.\n$/)
    const { stdout: text } = await ask(reference, SECRET, '--json')
    expect(JSON.parse(text)).toMatchObject({
      subject: 'acme',
      plan: 'free',
      limit: 'hour',
      used: 5,
      quota: 5,
    })
  })

  test('reads several secrets from a file', async () => {
    writeFileSync(join(app.folder.cwd, 'secrets'), `another secret of 16\n${SECRET}\n`)
    const { stdout } = await tollgate(['why', reference, '--secret-file', 'secrets'], { cwd: app.folder.cwd })
    expect(stdout).toContain('acme on the plan free was denied')
  })

  test('refuses what it cannot open, and shows no secret', async () => {
    const other = await ask(reference, 'quite another secret')
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('sealed with another secret') })
    expect(await ask('urn:tollgate:AZ')).toMatchObject({ code: 1 })
    const quoted = await ask(`{"type":"x","instance":"${reference}"}`)
    expect(quoted).toMatchObject({ code: 0, stdout: expect.stringContaining('acme') })
    const dated = await tollgate(['why', 'urn:tollgate:AZ', '--at', '14:03'])
    expect(dated).toMatchObject({ code: 2, stderr: expect.stringContaining('a reference says itself when') })
    expect(await ask(reference, '')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Set TOLLGATE_SECRET'),
    })
    expect(await ask(reference, 'short')).toMatchObject({
      code: 2,
      stderr: expect.not.stringContaining('short'),
    })
  })
})

describe('check', () => {
  test('prints the plans as a table', async () => {
    const { code, stdout } = await tollgate(['check'], { cwd: app.folder.cwd })
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `PLAN   LIMIT       ALLOWS                  NOTES
free   hour        5 per h                 default plan
       month       1,000 per month
pro    month       100 per month, overage
       concurrent  2 at a time
off                                        blocked
staff                                      unlimited

tollgate.config.mjs is right: 4 plans.
`,
    })
  })

  test('prints bursts and overage, and the only limit of all', async () => {
    const limits =
      "['50/s burst 100', '9/min', { quota: 5e6, window: 'month', overage: true }, { quota: 7, window: 'h', mode: 'observe' }]"
    const check = async (text: string): Promise<readonly string[]> => {
      writeFileSync(join(app.elsewhere.cwd, 'full.mjs'), text)
      const { stdout } = await tollgate(['check', 'full.mjs'], { cwd: app.elsewhere.cwd })
      return stdout.split('\n').slice(1, -3)
    }
    expect(await check(`export default { plans: { pro: ${limits} } }`)).toEqual([
      'pro   second  50 per s, burst 100           default plan',
      '      minute  9 per min',
      '      month   5,000,000 per month, overage',
    ])
    expect(await check('export default { limit: "5/min" }')).toEqual([
      'default  minute  5 per min  default plan',
    ])
  })

  test.each([
    ['export default { plans: { free: "5/fortnight" } }', "plans.free: got '5/fortnight'"],
    ['export default { limt: "5/min" }', 'limt'],
    ['export default 5', 'its default export must be an object'],
    ['export default {', 'cannot be loaded: SyntaxError'],
    ['throw new Error("no \\u001b[2J database")', String.raw`no \\x1b[2J database`],
    ['export default { limit: "5/min", hashIds: "too short" }', 'hashIds'],
    ['process.exit(0)', 'it calls process.exit(0)'],
    ['throw null', 'it threw null'],
    ['throw "a text"', 'it threw a text'],
    ['await new Promise(() => {})', 'it was not loaded within 10 s'],
    ['setInterval(() => {}, 1000); await new Promise(() => {})', 'it was not loaded within 10 s'],
  ])('says what is wrong in %s', async (text, says) => {
    writeFileSync(join(app.elsewhere.cwd, 'wrong.mjs'), text)
    const { code, stdout, stderr } = await tollgate(['check', 'wrong.mjs'], { cwd: app.elsewhere.cwd })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('wrong.mjs')
    expect(stderr.replaceAll('\\\\', '\\')).toContain(says.replaceAll('\\\\', '\\'))
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(stderr).not.toContain('too short')
  })

  test('keeps what a plans file prints out of an answer for programs', async () => {
    writeFileSync(
      join(app.elsewhere.cwd, 'prints.mjs'),
      'console.log("hello"); export default { limit: "5/min" }',
    )
    const { code, stdout, stderr } = await tollgate(['check', 'prints.mjs', '--json'], {
      cwd: app.elsewhere.cwd,
    })
    expect([code, stderr]).toEqual([0, 'hello\n'])
    expect(() => JSON.parse(stdout) as unknown).not.toThrow()
  })

  test('shows no stack of what a plans file does later', async () => {
    const text = 'Promise.reject(new Error("no database")); export default { limit: "5/min" }'
    writeFileSync(join(app.elsewhere.cwd, 'late.mjs'), text)
    const { code, stderr } = await app.runElsewhere('show', 'acme', '--plans', 'late.mjs')
    expect({ code, stderr }).toEqual({
      ...{ code: 1 },
      stderr: 'Something failed that is no part of the command, such as in the plans file: no database\n',
    })
  })

  test('says that there is no file', async () => {
    expect(await tollgate(['check'], { cwd: app.elsewhere.cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('tollgate check FILE'),
    })
  })
})
