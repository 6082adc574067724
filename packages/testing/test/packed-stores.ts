// The program of packed.deep.test.ts that uses the drop-in stores.
import { importsOf, requiresOf, type Needs } from './packed-imports.ts'

/** Each drop-in store through its own package: the statuses of three requests, with a limit of two. */
const PROGRAM = `
const main = async () => {
  const answers = []
  const app = express()
  app.use(rateLimit({ windowMs: 60_000, limit: 2, store: forExpress.tollgateStore(memoryStore()) }))
  app.use(slowDown({ windowMs: 60_000, delayAfter: 2, delayMs: () => 1, store: forExpress.tollgateStore(memoryStore()) }))
  app.get('/', (_req, res) => void res.send('hello'))
  const server = app.listen(0, '127.0.0.1', () => {})
  await once(server, 'listening')
  const { port } = Object(server.address())
  for (let i = 0; i < 3; i += 1) answers.push((await fetch('http://127.0.0.1:' + port)).status)
  server.close()
  server.closeAllConnections()

  const fastify = Fastify()
  await fastify.register(fastifyRateLimit, { max: 2, timeWindow: 60_000, store: forFastify.tollgateStore(memoryStore()) })
  fastify.get('/', async () => 'hello')
  for (let i = 0; i < 3; i += 1) answers.push((await fastify.inject('/')).statusCode)
  await fastify.close()

  const hono = new Hono()
  const keyGenerator = () => 'acme'
  hono.use(rateLimiter({ windowMs: 60_000, limit: 2, keyGenerator, store: forHono.tollgateStore(memoryStore()) }))
  hono.get('/', (c) => c.text('hello'))
  for (let i = 0; i < 3; i += 1) answers.push((await hono.request('/')).status)

  const storage = forNest.tollgateStore(memoryStore())
  ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 2 }], storage })
  for (let i = 0; i < 3; i += 1) answers.push((await storage.increment('acme', 60_000, 2, 0, 'default')).isBlocked ? 429 : 200)
  console.log(answers.join())
}
void main()
`
export const STORES_PRINT = `${Array(4).fill('200,200,429').join()}\n`
const TYPED = `
export const typed: [Store, FastifyRateLimitStoreCtor, ThrottlerStorage] = [
  forExpress.tollgateStore(memoryStore(), { name: 'login', onStoreFailure: 'closed', algorithm: 'fixed-window' }),
  forFastify.tollgateStore(memoryStore()),
  forNest.tollgateStore(memoryStore()),
]
// @ts-expect-error: no store
export const wrong = (): unknown => forHono.tollgateStore('redis')
// @ts-expect-error: the middleware says how much
export const limited = (): unknown => forHono.tollgateStore(memoryStore(), { limit: '5/min' })
`
const TYPES = `import type { Store } from 'express-rate-limit'
import type { FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import type { ThrottlerStorage } from '@nestjs/throttler'
`
const USED: Needs = {
  'node:events': ['once'],
  '@tollgate/core': ['memoryStore'],
  'express-rate-limit': ['rateLimit'],
  'express-slow-down': ['slowDown'],
  '@fastify/rate-limit': ['fastifyRateLimit'],
  '@nestjs/throttler': ['ThrottlerModule'],
  hono: ['Hono'],
  'hono-rate-limiter': ['rateLimiter'],
}
/** What has one export, or names that others have, too. */
const WHOLE: Readonly<Record<string, string>> = {
  express: 'express',
  Fastify: 'fastify',
}
const FACES: Readonly<Record<string, string>> = {
  forExpress: '@tollgate/stores/express-rate-limit',
  forFastify: '@tollgate/stores/fastify-rate-limit',
  forHono: '@tollgate/stores/hono-rate-limiter',
  forNest: '@tollgate/stores/nestjs-throttler',
}
export const STORES_PACKAGES = [
  ...['express-rate-limit@8.7.4', 'express-slow-down@3.1.1', '@fastify/rate-limit@11.2.0'],
  ...['hono@4.13.19', 'hono-rate-limiter@0.5.4', '@nestjs/throttler@6.7.1', '@nestjs/common@12.5.1'],
  ...['@nestjs/core@12.5.1', 'reflect-metadata@0.2.2', 'rxjs@7.8.2'],
]
const lines = (
  names: Readonly<Record<string, string>>,
  line: (name: string, module: string) => string,
): string =>
  Object.entries(names)
    .map(([name, module]) => line(name, module))
    .join('\n')

/** The beginning of the program of drop-in stores, as ESM, as CommonJS, and as CommonJS in TypeScript. */
const ESM = `import 'reflect-metadata'
${importsOf(USED)}
${lines(WHOLE, (name, module) => `import ${name} from '${module}'`)}
${lines(FACES, (name, module) => `import * as ${name} from '${module}'`)}
`
const CJS = `require('reflect-metadata')
${requiresOf(USED)}
${lines({ ...WHOLE, ...FACES }, (name, module) => `const ${name} = require('${module}')`)}
`
const CTS = `import 'reflect-metadata'
${importsOf(USED)}
${lines({ ...WHOLE, ...FACES }, (name, module) => `import ${name} = require('${module}')`)}
`

export const STORES_FILES = {
  esm: ESM + PROGRAM,
  cjs: CJS + PROGRAM,
  ts: TYPES + ESM + PROGRAM + TYPED,
  cts: TYPES + CTS + PROGRAM + TYPED,
}
