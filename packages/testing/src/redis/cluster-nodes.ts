// Reads what a cluster node reports about all nodes, and finds ports for nodes.
import { createServer } from 'node:net'
import { freePort } from './server.ts'

export const SLOTS = 16_384
const BUS_OFFSET = 10_000
const HIGHEST_PORT = 65_535

/** One line of CLUSTER NODES. */
export interface Seen {
  readonly id: string
  readonly port: number
  readonly isPrimary: boolean
  readonly slots: readonly (readonly [first: number, last: number])[]
}

export function readNodes(text: string): Seen[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines
    .map((line) => line.split(' '))
    .filter(([, , flags = '']) => !flags.includes('handshake'))
    .map(([id = '', address = '', flags = '', , , , , , ...slots]) => ({
      id,
      port: Number(/:(\d+)@/.exec(address)?.[1]),
      isPrimary: flags.includes('master'),
      slots: slots.filter((slot) => !slot.startsWith('[')).map(readRange),
    }))
}

function readRange(text: string): [first: number, last: number] {
  const [first = '', last = first] = text.split('-')
  return [Number(first), Number(last)]
}

/** Whether the node on `port` has the slot, in this view. */
export function hasSlot(view: readonly Seen[], slot: number, port: number): boolean {
  return view.some(
    (node) => node.port === port && node.slots.some(([first, last]) => slot >= first && slot <= last),
  )
}

/** Counts the slots of primaries on these ports, in this view. */
export function slotsOn(view: readonly Seen[], ports: ReadonlySet<number>): number {
  const ranges = view
    .filter(({ isPrimary, port }) => isPrimary && ports.has(port))
    .flatMap(({ slots }) => slots)
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

/** Free ports for nodes. Each node uses a second port for the cluster bus, 10 000 above the first. */
export async function portsWithBus(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = await freePort()
    const bus = port + BUS_OFFSET
    if (bus <= HIGHEST_PORT && !ports.has(bus) && !ports.has(port - BUS_OFFSET) && (await isFree(bus))) {
      ports.add(port)
    }
  }
  return [...ports]
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
