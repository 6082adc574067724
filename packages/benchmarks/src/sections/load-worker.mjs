// A process that puts a load on Redis: node load-worker.mjs REDIS_URL NAME. Answers each message with its decisions.
import { openClients, everybody } from '../kit/field.mjs'
import { closedLoop, MODES } from '../kit/load.mjs'

const [url, name] = process.argv.slice(2)
const contender = (await everybody(await openClients(url))).get(name)
process.on('message', async ({ inFlight, ms }) => {
  try {
    const { decisions } = await closedLoop(contender, MODES.allowed.idOf(), { inFlight, ms })
    process.send({ decisions })
  } catch (error) {
    process.send({ error: error.message })
  }
})
process.on('disconnect', () => process.exit(0))
process.send({})
