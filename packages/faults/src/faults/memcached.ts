// The ways in which a Memcached fails, each with a beginning and an end.
import { startMemcached } from '@tollgate/testing/memcached'
import { faultsOfNetwork, faultsOfServer } from './common.ts'
import { startFiller, type Filler } from './filler.ts'
import type { Fault, Scene } from './scene.ts'

export const MEMCACHED_FAULTS: readonly Fault[] = [
  ...faultsOfServer(startMemcached),
  // One process counts here, and it knows all that it counted: nothing is forgotten.
  { name: 'full and evicting', evicts: true, isPartial: true, prepare: evicting },
  ...faultsOfNetwork(startMemcached),
  {
    name: 'one of two servers killed',
    forgets: true,
    isPartial: true,
    sparesSome: true,
    // To Tollgate a client is one server, whatever is behind it.
    client: 'address',
    prepare: oneOfTwo,
  },
]

async function evicting(): Promise<Scene> {
  // The least that it starts with.
  const server = await startMemcached({ args: ['-m', '2'] })
  let filler: Filler | undefined
  return {
    target: { port: server.port },
    begin: async () => (filler = await startFiller(server.port)),
    end: async () => filler?.stop(),
    close: async () => {
      await filler?.stop()
      await server.kill()
    },
  }
}

async function oneOfTwo(): Promise<Scene> {
  const first = await startMemcached()
  let second = await startMemcached()
  const { port } = second
  return {
    target: { ports: [first.port, port] },
    begin: () => second.kill(),
    end: async () => (second = await startMemcached({ port })),
    close: async () => {
      await first.kill()
      await second.kill()
    },
  }
}
