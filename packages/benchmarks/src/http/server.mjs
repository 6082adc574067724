// One application in a process of its own: node server.mjs FRAMEWORK NAME STORE [ANSWER]. STORE is memory or the URL of a
// Redis, ANSWER the JSON of what is answered by hand. Sends `{ port }`, and answers every message with the CPU time that it
// has used.
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { buildApp } from './apps.mjs'

const [framework, name, store, answer] = process.argv.slice(2)
const client =
  store === 'memory'
    ? undefined
    : new Redis(store, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const server = await buildApp(framework, name, { client, answer: answer && JSON.parse(answer) })
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuUs: user + system })
})
// Or a section that fails would leave its servers behind.
process.on('disconnect', () => process.exit(0))
process.send({ port: server.address().port })
