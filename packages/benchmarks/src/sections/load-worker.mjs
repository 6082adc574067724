// A process that puts a load on Redis: node load-worker.mjs REDIS_URL. Answers each message with its
// decisions.
import { openClients, everybody } from '../kit/field.mjs'
import { closedLoop, MODES } from '../kit/load.mjs'
import { answerMessages } from '../kit/children.mjs'

const contenders = await everybody(await openClients(process.argv[2]))
answerMessages(async ({ name, inFlight, ms }) => {
  const contender = contenders.get(name)
  const { decisions } = await closedLoop(contender, MODES.allowed.idOf(), { inFlight, ms })
  return { decisions }
}, {})
