// An application in a process of its own. Its parent says what to run; it ends by itself when it is told to stop.
import { once } from 'node:events'
import { Bookings } from './bookings.mjs'
import { Journal } from './journal.mjs'

const { framework, store: reached, limiter: limiterOptions, planOf, topUps } = JSON.parse(process.argv[2])
const { open } = await import(`./stores/${reached.name}.mjs`)
const { store, close } = await open(reached)
const journal = new Journal()
const { build } = await import(`./${framework}.mjs`)
const { server, limiter } = await build(
  {
    ...limiterOptions,
    store,
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

const bookings = topUps && new Bookings(limiter, topUps)

let isStopping = false
process.on('message', stop)
process.on('disconnect', () => isStopping || process.exit(1))
process.send({ port: server.address().port, hasBreaker })

async function stop() {
  isStopping = true
  server.close()
  server.closeAllConnections()
  const { evicted } = limiter.stats()
  const booked = await bookings?.end()
  await limiter.close()
  close()
  const { entries, breaker, storeErrors } = journal
  process.send({ entries, breaker, storeErrors, evicted, booked }, () => process.disconnect())
}
