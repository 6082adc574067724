// Runs programs of pages one after another, uses the results of each as a reader would, and prints the outcome of each
// as a line of JSON. A child process of docs-run.deep.test.ts, in a folder with `programs.json`.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { Server } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createLimiter } from '@tollgate/core'
import express from 'express'

const folder = process.argv[2]
const programs = JSON.parse(readFileSync(join(folder, 'programs.json'), 'utf8'))

// Programs on pages use fixed ports. Here several run at once, so each server gets a free port.
const { listen } = Server.prototype
/** The servers that the current program has started. */
let started = []
Server.prototype.listen = function (where, ...rest) {
  started.push(this)
  const options = typeof where === 'object' && where !== null ? where : { port: Number(where) }
  return listen.call(
    this,
    { ...options, port: 0, host: '127.0.0.1' },
    ...rest.filter((one) => typeof one === 'function'),
  )
}

let report = { file: 'none' }
const end = (result) => process.stdout.write(`${JSON.stringify({ ...report, ...result })}\n`)
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error) => {
    end({ error: `${event}: ${error?.stack ?? error}` })
    process.exit(1)
  })
}

for (const program of programs) {
  report = { file: program.file }
  started = []
  try {
    const { made } = await import(pathToFileURL(join(folder, `${program.file}.js`)).href)
    end(await use(made, program))
  } catch (error) {
    end({ error: error?.stack ?? String(error) })
  }
}
process.exit(0)

/** Uses the results of a program as a reader would. */
async function use({ app, middleware, limiter, store, server }, { routes, reachesStore }) {
  const used = {}
  if (store) {
    const patience = reachesStore ? { deadlineMs: 20_000 } : {}
    used.source = await sourceOf(createLimiter({ limit: '1000/min', store, ...patience }), reachesStore)
  }
  // A program may close its own limiter.
  if (limiter && limiter.health().status !== 'closed') used.source = await sourceOf(limiter, reachesStore)
  const served = app ?? (middleware && express().use(signIn, middleware))
  if (served || started.length > 0) used.statuses = await ask(await listening(served), routes)
  if (server) used.upgrade = await upgrade(server)
  return used
}

function signIn(req, _res, next) {
  req.user = { id: 'ann', tenantId: 'acme', org: 'acme', plan: 'pro' }
  next()
}

/** The source of a decision. Waits until Redis is connected, if the program uses it. */
async function sourceOf(limiter, reachesStore) {
  for (const end = performance.now() + 20_000; ;) {
    const { source } = await limiter.consume({ id: 'reader' })
    if (!reachesStore || source === 'store' || performance.now() > end) return source
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The server that the program has started, or a new one for its app. */
async function listening(app) {
  const [own] = started
  if (own) {
    if (!own.listening) await once(own, 'listening')
    return own
  }
  if (app.ready && app.inject) {
    await app.listen({ port: 0 })
    return app.server
  }
  const server = createServer(typeof app.callback === 'function' ? app.callback() : app)
  server.listen(0)
  await once(server, 'listening')
  return server
}

async function ask(server, routes) {
  const url = `http://127.0.0.1:${server.address().port}`
  const statuses = []
  for (const [method, path] of routes) {
    const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {}
    const response = await fetch(url + path, { method, ...body })
    await response.text()
    statuses.push(response.status)
  }
  return statuses
}

/** The status of an upgrade request; undefined if the server does not handle upgrades. */
async function upgrade(server) {
  if (server.listenerCount('upgrade') === 0) return undefined
  if (!server.listening) await once(server.listen(0), 'listening')
  const headers = { connection: 'Upgrade', upgrade: 'websocket' }
  const asked = request({ port: server.address().port, host: '127.0.0.1', headers }).end()
  const [response] = await Promise.race([once(asked, 'upgrade'), once(asked, 'response')])
  response.destroy()
  return response.statusCode
}
