// The faults that a server of any kind can have.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  absent,
  onProxy,
  onServer,
  repeated,
  restarted,
  type Fault,
  type Proxied,
  type Server,
  type Start,
} from './scene.ts'

/** A server that is absent, dies or hangs. */
export function faultsOfServer(start: Start<Server>): Fault[] {
  return [
    { name: 'absent at the start', fromStart: true, prepare: () => absent(start) },
    {
      name: 'killed and restarted',
      forgets: true,
      prepare: () => restarted(start, (server) => server.kill()),
    },
    { name: 'hangs', prepare: () => onServer(start, hang, (server) => server.resume()) },
    { name: 'hangs for good', isForGood: true, prepare: () => onServer(start, hang, () => {}) },
    { name: 'hangs, is killed and restarted', forgets: true, prepare: () => restarted(start, hang) },
  ]
}

/** A network that is slow, cut or silent. */
export function faultsOfNetwork(start: Start<Server>): Fault[] {
  return [
    {
      name: '500 ms late',
      prepare: () =>
        onProxy(
          start,
          ({ proxy }) => proxy.latency(500),
          ({ proxy }) => proxy.restore(),
        ),
    },
    {
      name: 'connections reset in mid-answer',
      isPartial: true,
      prepare: () => repeated(start, resetInMidAnswer, 150),
    },
    {
      name: 'network silent',
      prepare: () =>
        onProxy(
          start,
          ({ proxy }) => proxy.blackhole(),
          ({ proxy }) => proxy.restore(),
        ),
    },
  ]
}

function hang(server: Server): void {
  server.pause()
}

/** Cuts open connections in the middle of an answer. New connections work. */
async function resetInMidAnswer({ proxy }: Proxied): Promise<void> {
  proxy.cutAfterBytes(10)
  await sleep(20)
  await proxy.restore()
}
