// The real values that programs on pages use without declaring them: an app with a logged-in user, a Redis client, a
// limiter. docs-programs.ts has their types.
import { EventEmitter } from 'node:events'
import { createLimiter } from '@tollgate/core'
import express from 'express'
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import Koa from 'koa'

const user = { id: 'ann', tenantId: 'acme', org: 'acme', plan: 'pro', isAdmin: false }
const tenant = { id: 'acme', plan: 'pro' }

const MAKERS = {
  redis: () =>
    new Redis(process.env.REDIS_URL, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 }),
  db: () => ({ query: async () => ({ rows: [{ plan: 'pro' }] }) }),
  limiter: () => createLimiter({ plans: { free: '100/min', pro: '3000/min' }, defaultPlan: 'free' }),
  decision: () => createLimiter({ limit: '100/min' }).consume('acme'),
  userId: () => 'ann',
  sockets: () => {
    const sockets = new EventEmitter()
    const opened = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    sockets.handleUpgrade = (_req, socket) => socket.end(opened)
    return sockets
  },
  AppModule: async () => {
    const { Module } = await import('@nestjs/common')
    const AppModule = class {}
    Module({})(AppModule)
    return AppModule
  },
  planOf: () => async () => 'pro',
  render: () => async () => ['a page', 'another'],
}

const MAKERS_OF = {
  express: {
    app: () => express().use((req, _res, next) => next(Object.assign(req, { user, tenant }) && undefined)),
    authenticate: () => (req, _res, next) => next(Object.assign(req, { user, tenant }) && undefined),
    cors: () => () => (_req, res, next) => next(res.set('Access-Control-Allow-Origin', '*') && undefined),
  },
  fastify: {
    app: () => {
      const app = Fastify()
      app.decorateRequest('user')
      app.decorateRequest('tenant')
      return app.addHook('onRequest', async (request) => void Object.assign(request, { user, tenant }))
    },
    authenticate: () => async (request) => void Object.assign(request, { user, tenant }),
    search: () => async () => 'found',
    handler: () => async () => 'handled',
  },
  koa: {
    app: () => new Koa().use((ctx, next) => Object.assign(ctx.state, { user, tenant }) && next()),
    authenticate: () => (ctx, next) => Object.assign(ctx.state, { user, tenant }) && next(),
  },
}

/** Makes the values with these names, new for each program. */
export async function free(framework, names) {
  const makers = { ...MAKERS, ...MAKERS_OF[framework] }
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await makers[name]()])))
}
