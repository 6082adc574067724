// A process that puts a load on Redis: node load-worker.mjs REDIS_URL. Answers each message with its
// decisions.
import { openClients, everybody } from '../kit/field.mjs'
import { closedLoop, MODES } from '../kit/load.mjs'

const contenders = await everybody(await openClients(process.argv[2]))
process.on('message', async ({ name, inFlight, ms }) => {
  try {
    const contender = contenders.get(name)
    const { decisions } = await closedLoop(contender, MODES.allowed.idOf(), { inFlight, ms })
    process.send({ decisions })
  } catch (error) {
    process.send({ error: error.message })
  }
})
process.on('disconnect', () => process.exit(0))
process.send({})
