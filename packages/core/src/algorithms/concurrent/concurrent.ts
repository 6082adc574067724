import { shareOfUnits } from '../../base/options.js'
import type { Implementation, SlotHolder } from '../implementation.js'
import type { LimitTerms } from '../limit-terms.js'

/** For a limit of requests in flight. */
export interface ConcurrentOptions {
  /** For a limit of requests in flight: the wait that a denial reports, in ms. Default: 1000. */
  readonly retryAfterMs?: number | undefined
}

export interface ConcurrentParams {
  readonly quota: number
  /** The wait that a denial reports, in µs. */
  readonly hintUs: number
}

/** The slots of one process. */
interface Row {
  readonly id: string
  readonly held: number
  /** The number of its last slot. */
  readonly known: number
  readonly endsMs: number
}

/** The stored rows, and what `load` derives from them. */
export interface ConcurrentState {
  /** The list is replaced, never changed. */
  rows: readonly Row[]
  now: number
  /** The rows that have not ended by now. */
  live: readonly Row[]
  /** The row of the process whose slots the request reports; undefined if it reports none. */
  own: Row | undefined
}

const RETRY_AFTER_MS = 1000

/**
 * Requests in flight: at most `quota` of a subject at a time, in all processes together. The twin of concurrent.lua. Each
 * process has a row with the number of its slots. It reports absolute numbers, so the next message repairs a lost one.
 * The row of a process that reports nothing more ends. SlotHolder has the rules.
 */
export const concurrent: Implementation<ConcurrentState, ConcurrentParams, ConcurrentOptions, 'concurrent'> =
  {
    name: 'concurrent',
    options: ['retryAfterMs'],
    inFlight: true,

    isMeant: () => false,
    compile({ quota, options }: LimitTerms<ConcurrentOptions>) {
      const params = { quota, hintUs: (options.retryAfterMs ?? RETRY_AFTER_MS) * 1000 }
      return { windowId: 0, ttlMs: SLOTS_KEPT_US / 1000, paramsAt: () => params }
    },
    capacity: ({ quota }) => quota,
    scale: (params, share) => ({ ...params, quota: shareOfUnits(params.quota, share) }),

    code: 6,
    wire: ['quota', 'hintUs'],

    create: () => ({ rows: [], now: 0, live: [], own: undefined }),

    load(state, last, now) {
      const backMs = Math.floor(Math.max(last - now, 0) / 1000)
      const rows =
        backMs === 0 ? state.rows : state.rows.map((row) => ({ ...row, endsMs: row.endsMs - backMs }))
      const isLive = ({ endsMs }: Row): boolean => endsMs * 1000 > now
      state.live = rows.every(isLive) ? rows : rows.filter(isLive)
      state.now = now
      state.own = undefined
    },

    declare(state, { id, held, known }: SlotHolder) {
      const before = state.live.find((row) => row.id === id)
      const heldNow = held + Math.max((before?.known ?? known) - known, 0)
      state.own = {
        id,
        held: heldNow,
        known: Math.max(before?.known ?? 0, known),
        endsMs: Math.floor(state.now / 1000) + SLOTS_KEPT_US / 1000,
      }
      return (before?.held ?? 0) !== heldNow
    },
    release(state, { id, held, known }: SlotHolder) {
      const before = state.live.find((row) => row.id === id)
      if (!before) return false
      const own = {
        ...before,
        held: held + Math.max(before.known - known, 0),
        known: Math.max(before.known, known),
      }
      state.rows = state.live = state.live.map((row) => (row === before ? own : row))
      state.own = own
      return true
    },
    slotOf: ({ own }) => own?.known ?? 0,

    remaining: (state, { quota }) => Math.max(quota - heldOf(state), 0),
    wait: (state, _, { quota, hintUs }) => (heldOf(state) < quota ? 0 : hintUs),

    take(state, cost) {
      const { own, live } = state
      if (own) {
        const slots = cost > 0 ? 1 : 0
        state.own = { ...own, held: own.held + slots, known: own.known + slots }
        const others = live.filter(({ id }) => id !== own.id)
        state.live = state.own.held > 0 || others.length < live.length ? [...others, state.own] : others
      }
      state.rows = state.live
    },

    // A row counts until its end, even without slots: it has the number of the last one.
    unitsIn: ({ rows }) => rows.length,
    stateOf: () => concurrent.create(),
    countsForUs: () => SLOTS_KEPT_US,
    // Units that are charged later belong to requests that have ended, or that their process reports.
    force: (state, used) => {
      state.rows = state.live
      return used.reduce((sum, { units }) => sum + units, 0)
    },
    enter() {},
    give(state) {
      state.rows = state.live
      return false
    },
  }

function heldOf({ live, own }: ConcurrentState): number {
  let held = own?.held ?? 0
  for (const row of live) if (row.id !== own?.id) held += row.held
  return held
}

/** How long a store keeps the slots of a process after its last message, in µs. */
export const SLOTS_KEPT_US = 14_000_000
