// An application in a process of its own. Its parent says what to run; it ends by itself when it is told to stop.
import { once } from 'node:events'
import { redisStore } from '@tollgate/core'
import { connect } from './client.mjs'
import { Journal } from './journal.mjs'

const { framework, client: clientOptions, limiter: limiterOptions, planOf } = JSON.parse(process.argv[2])
const client = await connect(clientOptions)
const journal = new Journal()
const { build } = await import(`./${framework}.mjs`)
const { server, limiter } = await build(
  {
    ...limiterOptions,
    store: redisStore(client),
    identify: (tenant) => ({ id: tenant, plan: planOf[tenant] }),
  },
  journal.note,
)
const hasBreaker = journal.listen(limiter)
journal.watch(server)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
// Longer than any pause of the load: else a request could meet a connection that is just being closed.
server.keepAliveTimeout = 60_000

let isStopping = false
process.on('message', stop)
process.on('disconnect', () => isStopping || process.exit(1))
process.send({ port: server.address().port, hasBreaker })

async function stop() {
  isStopping = true
  server.close()
  server.closeAllConnections()
  await limiter.close()
  client.disconnect()
  const { entries, breaker, storeErrors } = journal
  process.send({ entries, breaker, storeErrors }, () => process.disconnect())
}
