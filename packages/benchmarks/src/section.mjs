// Measures one section, in a process that run.mjs starts: node section.mjs NAME quick|full PLACEMENT. Sends `{ grids }`.
import { Redis } from 'ioredis'
import { placeOnCores } from './kit/cores.mjs'
import { openClients } from './kit/field.mjs'
import { exitOnSignals, startRedis } from './kit/redis.mjs'
import { SECTIONS } from './sections.mjs'

const [name, pace, wanted] = process.argv.slice(2)
const { file, input, cores = wanted } = SECTIONS[name]
const isQuick = pace === 'quick'

// Or a run that is stopped would leave a section and its servers behind.
process.on('disconnect', () => process.exit(1))

exitOnSignals()
const redis = await startRedis()
const placement = placeOnCores(wanted === 'free' ? wanted : cores, redis.pid)
const clients = await openClients(redis.url)
const monitor = new Redis(redis.url)
const { measure } = await import(`./sections/${file}`)
const grids = await measure({
  ...{ isQuick, url: redis.url, serverPid: redis.pid, clients, monitor, placement },
  rounds: isQuick ? 3 : 5,
  cellMs: isQuick ? 60 : 200,
  ...input,
})
process.send({ grids, placement }, () => {
  clients.close()
  monitor.disconnect()
  redis.stop()
  process.exit(0)
})
