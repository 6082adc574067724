// The applications of the HTTP sections: the same small answer on each framework, behind one of the limiters.
import { createRequire } from 'node:module'
import { createServer } from 'node:http'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { RedisStore } from 'rate-limit-redis'
import { allowedByFlexible } from '../kit/contenders.mjs'
import { LIMITS } from '../kit/field.mjs'
import { SUBJECTS } from '../kit/load.mjs'
import * as names from '../names.mjs'

const require = createRequire(import.meta.url)

export const QUOTA = 100
const MINUTE_MS = 60_000
const BODY = { hello: 'world' }
export const ID_HEADER = 'x-api-key'
const idOf = (req) => req.headers[ID_HEADER]

/** The options of Tollgate by the name of the row. */
const OURS = {
  [names.LOG_100]: { limit: `${QUOTA}/min` },
  [names.BUCKET]: { limit: { ...LIMITS[names.BUCKET], quota: QUOTA } },
}

/** Limiters that any framework can call: `(id) => whether it may pass`. */
function checkOf(name, client) {
  if (name === names.INCR) return async (id) => (await client.incr(`incr:${id}`)) <= QUOTA
  const options = { storeClient: client, points: QUOTA, duration: 60 }
  if (name === names.FLEXIBLE_BLOCK) options.inMemoryBlockOnConsumed = QUOTA
  else if (name !== names.FLEXIBLE) return undefined
  const limiter = new RateLimiterRedis(options)
  return (id) =>
    limiter.consume(id).then(
      () => true,
      (answer) => allowedByFlexible(answer, true),
    )
}

const anyIncluded = (name) => [names.INCR, names.FLEXIBLE, names.FLEXIBLE_BLOCK].includes(name)

/**
 * @typedef {object} Answer what an application answers by hand
 * @property {number} status  429, or 200: then the headers are set, and the route answers
 * @property {Record<string, string>} headers
 * @property {string} body    of a 429
 */

/**
 * @param {'express' | 'fastify' | 'koa'} framework
 * @param {string} name     of the row
 * @param {object} settings
 * @param {object} [settings.client] of Redis; without one, limiters count in memory
 * @param {Answer} [settings.answer] for the row by hand
 * @returns a server that does not listen yet
 */
export async function buildApp(framework, name, { client, answer }) {
  const ours = OURS[name] && { ...OURS[name], warnings: false, deadlineMs: 10_000 }
  const check = anyIncluded(name) ? checkOf(name, client) : undefined
  const { rateLimit, redisStore } = await import(`@tollgate/${framework}`)
  const own = ours && { ...ours, ...(client && { store: redisStore(client) }) }
  return { express, fastify, koa }[framework]({ name, client, check, own, rateLimit, answer })
}

async function express({ name, client, check, own, rateLimit, answer }) {
  const { default: makeApp } = await import('express')
  const app = makeApp()
  if (own) app.use(rateLimit({ ...own, identify: idOf }))
  if (answer) {
    app.use((_req, res, next) => {
      setHeaders(res, answer)
      if (answer.status === 200) return next()
      res.statusCode = answer.status
      res.end(answer.body)
    })
  }
  if (check) {
    app.use((req, res, next) => {
      check(idOf(req)).then((pass) => (pass ? next() : res.status(429).send('Too Many Requests')), next)
    })
  }
  if (name === names.EXPRESS) {
    const { rateLimit: peer } = await import('express-rate-limit')
    const store = client && new RedisStore({ sendCommand: (...args) => client.call(...args) })
    const options = { windowMs: MINUTE_MS, limit: QUOTA, standardHeaders: 'draft-8', keyGenerator: idOf }
    app.use(peer({ ...options, ...(store && { store }) }))
  }
  app.get('/', (_req, res) => res.json(BODY))
  return createServer(app)
}

function setHeaders(res, { headers }) {
  for (const header in headers) res.setHeader(header, headers[header])
}

async function fastify({ name, client, check, own, rateLimit, answer }) {
  const { default: makeApp } = await import('fastify')
  const app = makeApp()
  // All in the stage of the peer.
  if (own) await app.register(rateLimit, { ...own, identify: idOf, hook: 'onRequest' })
  if (answer) {
    // Of a string, Fastify adds the charset to the type.
    const body = Buffer.from(answer.body)
    app.addHook('onRequest', (_req, reply, done) => {
      reply.headers(answer.headers)
      if (answer.status === 200) return done()
      reply.code(answer.status).send(body)
    })
  }
  if (check) {
    app.addHook('onRequest', async (req, reply) => {
      if (!(await check(idOf(req)))) return reply.code(429).send('Too Many Requests')
    })
  }
  if (name === names.FASTIFY) {
    const { default: peer } = await import('@fastify/rate-limit')
    const store = client ? { redis: client } : { cache: SUBJECTS }
    await app.register(peer, { max: QUOTA, timeWindow: MINUTE_MS, keyGenerator: idOf, ...store })
  }
  app.get('/', async () => BODY)
  await app.ready()
  return app.server
}

async function koa({ name, client, check, own, rateLimit, answer }) {
  const { default: Koa } = await import('koa')
  const app = new Koa()
  if (own) app.use(rateLimit({ ...own, identify: (ctx) => ctx.get(ID_HEADER) }))
  if (answer) {
    app.use((ctx, next) => {
      setHeaders(ctx.res, answer)
      if (answer.status === 200) return next()
      ctx.status = answer.status
      ctx.body = answer.body
    })
  }
  if (check) {
    app.use(async (ctx, next) => {
      if (await check(ctx.get(ID_HEADER))) return next()
      ctx.status = 429
      ctx.body = 'Too Many Requests'
    })
  }
  if (name === names.KOA) {
    const peer = require('koa-ratelimit')
    const id = (ctx) => ctx.get(ID_HEADER)
    const store = client ? { driver: 'redis', db: client } : { driver: 'memory', db: new Map() }
    app.use(peer({ ...store, duration: MINUTE_MS, max: QUOTA, id }))
  }
  app.use((ctx) => {
    ctx.body = BODY
  })
  return createServer(app.callback())
}
