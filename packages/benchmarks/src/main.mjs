// npm run bench: Tollgate beside a bare INCR and its peers, in one run. --quick is rougher and takes half a minute.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { Redis } from 'ioredis'
import { createContenders } from './contenders.mjs'
import { measureMemory } from './memory.mjs'
import { serverVersion, startRedis } from './redis.mjs'
import { measureSpeed } from './speed.mjs'
import { goalTable, memoryTable, speedTable } from './tables.mjs'

const isQuick = process.argv.includes('--quick')
const pace = isQuick ? { rounds: 3, cellMs: 150 } : { rounds: 9, cellMs: 300 }
const say = (text) => process.stdout.write(`${text}\n\n`)

const redis = await startRedis()
const client = new Redis(redis.url)
const monitor = new Redis(redis.url)
say(await describeRun())

const speed = new Map()
for (const inFlight of [1, 64, 512]) {
  const results = await measureSpeed(createContenders(client), { client, monitor, inFlight, ...pace })
  speed.set(inFlight, results)
  say(`## ${inFlight} in flight\n\n${speedTable(results)}`)
}
const memory = await measureMemory(client)
say(`## Memory\n\n${memoryTable(memory)}`)
say(`## To reach\n\n${goalTable({ speed, memory })}`)

client.disconnect()
monitor.disconnect()
redis.stop()

async function describeRun() {
  const require = createRequire(import.meta.url)
  const versions = ['ioredis', 'rate-limiter-flexible', 'rate-limit-redis'].map(
    (name) => `${name} ${JSON.parse(readFileSync(findManifest(require.resolve(name)))).version}`,
  )
  const machine = `${cpus().length} cores, Node ${process.version}, Redis ${await serverVersion(monitor)}`
  return `# Benchmark\n\n${machine}; ${versions.join(', ')}. ${pace.rounds} rounds of ${pace.cellMs} ms; median [quartiles].`
}

/** The package.json above a file of a package. */
function findManifest(file) {
  for (let folder = new URL('.', `file://${file}`); ; folder = new URL('..', folder)) {
    const manifest = new URL('package.json', folder)
    try {
      if (JSON.parse(readFileSync(manifest)).version) return manifest
    } catch {
      // not here: one folder up
    }
  }
}
