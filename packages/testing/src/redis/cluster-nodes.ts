// Reads what a cluster node reports about all nodes, and finds ports for nodes.
import { freePort, isFree } from '../servers/server-process.ts'

export const SLOTS = 16_384
const BUS_OFFSET = 10_000

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
    if (await isFree(bus)) ports.add(port)
  }
  return [...ports]
}
