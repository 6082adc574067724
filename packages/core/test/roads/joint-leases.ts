// Units that the processes of a joint schedule may hold on lease.
import type { LeaseChange } from '../../src/features/leases/lease-reporter.js'

interface Held {
  units: number
  /** When the oldest of them were granted. */
  sinceUs: number
}

export class JointLeases {
  /** How long a lease is at most. */
  readonly lengthUs: number
  /** By process and subject. */
  readonly #held = new Map<string, Held>()

  constructor(lengthUs: number) {
    this.lengthUs = lengthUs
  }

  /** Of all processes but one, whose units do not deny its own requests while its leases surely live. */
  most(subject: string, nowUs: number, asker?: number): number {
    let units = 0
    for (const [name, { units: own, sinceUs }] of this.#held) {
      const [process, of] = JSON.parse(name) as [number, string]
      const isIdle = process === asker && nowUs < sinceUs + this.lengthUs
      if (of === subject && !isIdle) units += own
    }
    return units
  }

  /** Returns how many more there may be now. */
  changed(
    process: number,
    subject: string,
    { kind, units, nowUs }: Pick<LeaseChange, 'kind' | 'units'> & { readonly nowUs: number },
  ): number {
    const name = JSON.stringify([process, subject])
    const held = this.#held.get(name) ?? { units: 0, sinceUs: nowUs }
    if (held.units === 0) held.sinceUs = nowUs
    this.#held.set(name, held)
    if (kind === 'returned' || kind === 'lost') held.units = Math.max(held.units - units, 0)
    if (kind !== 'granted') return 0
    held.units += units
    return units
  }

  used(process: number, subject: string, units: number): void {
    const held = this.#held.get(JSON.stringify([process, subject]))
    if (held) held.units = Math.max(held.units - units, 0)
  }
}
