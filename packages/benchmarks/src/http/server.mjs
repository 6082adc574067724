// One application in a process of its own: node server.mjs FRAMEWORK NAME REDIS_URL. Sends `{ port }`, and answers every
// message with the CPU time that it has used.
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { buildApp } from './apps.mjs'

const [framework, name, url] = process.argv.slice(2)
const client = new Redis(url, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const server = await buildApp(framework, name, client)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuUs: user + system })
})
// Or a section that fails would leave its servers behind.
process.on('disconnect', () => process.exit(0))
process.send({ port: server.address().port })
