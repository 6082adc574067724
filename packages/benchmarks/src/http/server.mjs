// One application in a process of its own: node server.mjs FRAMEWORK NAME STORE [ANSWER]. STORE is memory or the URL of a
// Redis, ANSWER the JSON of what is answered by hand. Sends `{ port }`, and answers every message with the CPU time that it
// has used.
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { buildApp } from './apps.mjs'
import { answerMessages } from '../kit/children.mjs'

const [framework, name, store, answer] = process.argv.slice(2)
const client =
  store === 'memory'
    ? undefined
    : new Redis(store, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const server = await buildApp(framework, name, { client, answer: answer && JSON.parse(answer) })
server.listen(0, '127.0.0.1')
await once(server, 'listening')
answerMessages(
  () => {
    const { user, system } = process.cpuUsage()
    return { cpuUs: user + system }
  },
  { port: server.address().port },
)
