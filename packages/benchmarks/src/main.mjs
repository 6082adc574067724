// npm run bench: Tollgate beside a bare INCR and its peers, in one run. --quick is less exact, --json FILE keeps all
// figures.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { createContenders } from './contenders.mjs'
import { placeOnCores } from './cores.mjs'
import { judge } from './goals.mjs'
import { describeMachine } from './machine.mjs'
import { measureMemory } from './memory.mjs'
import { startRedis } from './redis.mjs'
import { measureSpeed } from './speed.mjs'
import { goalTable, memoryTable, speedTable } from './tables.mjs'

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, json: { type: 'string' }, cores: { type: 'string' } },
})
const isQuick = options.quick === true
const pace = isQuick ? { rounds: 3, cellMs: 150 } : { rounds: 7, cellMs: 300 }
const say = (text) => process.stdout.write(`${text}\n\n`)

const redis = await startRedis()
const placement = placeOnCores(options.cores ?? 'apart', redis.pid)
const client = new Redis(redis.url, { autoResendUnfulfilledCommands: false })
const monitor = new Redis(redis.url)
const machine = await describeMachine(monitor)
say(heading(machine))

const speed = await runSpeed()
const memory = await measureMemory(client, monitor, { isQuick })
say(`## Redis memory\n\n${memoryTable(memory)}`)
const goals = judge({ speed, memory })
say(`## To reach\n\n${goalTable(goals)}`)

if (options.json) writeFileSync(options.json, `${JSON.stringify(raw(), null, 2)}\n`)
client.disconnect()
monitor.disconnect()
redis.stop()

async function runSpeed() {
  const results = new Map()
  for (const inFlight of [1, 64, 512]) {
    const figures = await measureSpeed(createContenders(client), { client, monitor, inFlight, ...pace })
    results.set(inFlight, figures)
    say(`## ${inFlight} in flight\n\n${speedTable(figures)}`)
  }
  return results
}

function heading({ cores, cpu, load, node, redis: version, packages }) {
  const versions = Object.entries(packages).map(([name, number]) => `${name} ${number}`)
  return [
    '# Benchmark',
    `${cores} cores (${cpu}), load ${load.toFixed(1)} at the start, Node ${node}, Redis ${version}; ${versions.join(', ')}.`,
    `${pace.rounds} rounds of ${pace.cellMs} ms a cell; median [quartiles]; ratios are paired within a round. Node and Redis on cores: ${placement}.`,
  ].join('\n\n')
}

function raw() {
  const bySpeed = [...speed].map(([inFlight, figures]) => [inFlight, Object.fromEntries(figures)])
  const byMemory = { cases: memory.cases, bytes: Object.fromEntries(memory.results) }
  return { machine, placement, pace, speed: Object.fromEntries(bySpeed), memory: byMemory, goals }
}
