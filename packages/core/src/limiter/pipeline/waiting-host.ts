import type { InFlight } from '../../features/in-flight/in-flight.js'
import type { UnitsBack } from '../settle/units-back.js'
import type { WaitingHost } from '../waiting/waiting-room.js'

/** What a waiting room can ask of the pipeline. A request that waits holds its slots meanwhile. */
export function waitingHostOf(
  inFlight: InFlight,
  unitsBack: UnitsBack,
  { isRefused, ask, conclude, told }: Omit<WaitingHost, 'giveBack'>,
): WaitingHost {
  return {
    isRefused,
    told,
    ask: (request) => ask(inFlight.begin(request)),
    conclude(request, verdict) {
      const { inFlight: slots, parts } = verdict.step
      return conclude(slots ? { ...request, parts, inFlight: slots } : request, verdict)
    },
    giveBack(verdict) {
      verdict.step.inFlight?.conclude(false)
      return unitsBack.give(verdict, verdict.step.cost)
    },
  }
}
