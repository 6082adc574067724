/** What the dashboard's routes answer, as JSON. Times are ISO 8601 texts, lengths of time are ms, units are quota units. */

/** What an operator can do to a customer or a plan. */
export type ChangeKind =
  | 'block'
  | 'unblock'
  | 'override'
  | 'scale'
  | 'lift'
  | 'topUp'
  | 'renew'
  | 'reset'
  | 'forgetPlan'

/** `GET api/session`: who looks, and at what. */
export interface SessionAnswer {
  /** The limiter's name; left out for a limiter without one. */
  readonly name?: string
  /** Who looks: written down with each change. */
  readonly by: string
  /** What who looks may change; empty where it may only look. */
  readonly actions: readonly ChangeKind[]
  /** The plans, in the order they were given, with their limits as they were written; empty if they are not known. */
  readonly plans: readonly PlanAnswer[]
}

export interface PlanAnswer {
  readonly name: string
  readonly isDefault: boolean
  readonly limits: readonly LimitAnswer[]
}

export interface LimitAnswer {
  readonly name: string
  readonly quota: number
  readonly windowMs: number
  /** Set for limits of requests in flight. */
  readonly quotaUnit?: 'concurrent-requests'
  /** Whether its windows begin and end, so that it can have top-ups. Left out if the plan is not known. */
  readonly hasWindows?: boolean
  /** Units that can be taken at once, where that is not the quota. */
  readonly burst?: number
  /** Set if it lets pass, and counts what is beyond the quota. */
  readonly overage?: true
}

/** `GET api/overview`, and each event of `GET api/live` (`data:` of event `overview`). */
export interface OverviewAnswer {
  readonly at: string
  /** What all processes have seen in the last `coversMs`; null while the store does not answer. */
  readonly figures: FiguresAnswer | null
  /** Why there are no figures, as a sentence. */
  readonly problem?: string
  /** The process that serves this page. */
  readonly process: ProcessAnswer
  /** The latest five minutes at most, the oldest first: as far as somebody has looked. */
  readonly samples: readonly SampleAnswer[]
}

/** One point of the chart, every two seconds: means per second over what the figures cover. */
export interface SampleAnswer {
  /** ms since 1970. */
  readonly at: number
  readonly allowedPerSecond: number
  readonly deniedPerSecond: number
  /** How long the store took to answer, in ms; null if it did not. */
  readonly storeMs: number | null
}

export interface FiguresAnswer {
  /** How long the figures cover, in ms: up to a minute. */
  readonly coversMs: number
  /** The processes that had requests. */
  readonly processes: number
  /** Processes of another version of Tollgate, whose figures are not here. */
  readonly unread: number
  readonly requests: number
  readonly denied: number
  readonly busiest: readonly BusyAnswer[]
  readonly mostDenied: readonly DeniedAnswer[]
  readonly nearest: readonly NearAnswer[]
}

export interface BusyAnswer {
  /** The id; with `hashIds`, or if it cannot be shown, its key (begins with `#` or `@`). */
  readonly subject: string
  readonly plan: string
  readonly requests: number
  /** By how much `requests` can be too high; 0: it is exact. */
  readonly error: number
  readonly denied: number
  readonly units: number
}

export interface DeniedAnswer {
  readonly subject: string
  readonly plan: string
  readonly denied: number
  readonly error: number
}

export interface NearAnswer {
  readonly subject: string
  readonly plan: string
  readonly limit: string
  /** 1 is all of it. Above 1 with overage. */
  readonly share: number
  readonly used: number
  readonly quota: number
}

export interface ProcessAnswer {
  readonly status: 'ok' | 'degraded' | 'closed'
  /** Shards whose breaker is open. */
  readonly openShards: readonly number[]
  readonly rules?: 'unread' | 'current' | 'stale' | 'off'
  /** What answered this process's requests since the event before (2 s at most); a kind that answered none is left out. */
  readonly answeredBy: Readonly<Record<string, number>>
  /** Whether it has answered any request since it started: `tollgate dashboard` only looks. */
  readonly hasAnswered: boolean
  readonly storeErrors: number
  readonly pending: number
  readonly inFlight: number
  readonly waiting: number
  /** Units on lease that this process has not used. */
  readonly leasedUnits: number
}

/** `GET api/refusals`: the last hour by minute and limit, of all processes. Records of several minutes are spread over them evenly. */
export interface RefusalsAnswer {
  readonly from: string
  /** The names of limits or, where no limit denied, reasons such as `blocked`. */
  readonly causes: readonly string[]
  /** One for each minute, the oldest first; `counts` in the order of `causes`. */
  readonly minutes: readonly { readonly at: number; readonly counts: readonly number[] }[]
}

/** `GET api/subject?id=acme&plan=pro&ip=1`: where a customer stands. `plan` and `ip` may be left out. */
export interface SubjectAnswer {
  readonly at: string
  readonly id: string
  readonly isAddress: boolean
  readonly plan: string
  /** Who said the plan: whoever asks, the application, its last requests, its last denial, what it has used, or nobody. */
  readonly planFrom: 'operator' | 'application' | 'requests' | 'denial' | 'counts' | 'default'
  readonly blocked?: { readonly until: string | null; readonly reason?: string; readonly byItself: boolean }
  readonly isOverridden: boolean
  readonly limits: readonly StateAnswer[]
  readonly rules: readonly RuleAnswer[]
  /** What it did in the last minute; null if it was not seen. */
  readonly traffic: BusyAnswer | null
  /** Its denials of the last day, the latest first, at most 100. */
  readonly denials: readonly DenialAnswer[]
  /** Since when `denials` is complete. */
  readonly denialsFrom: string
  readonly history: readonly HistoryAnswer[]
}

export interface StateAnswer extends LimitAnswer {
  readonly used: number
  readonly remaining: number
  /** ms until more is back, if no other request takes units; 0 if nothing is used, and for requests in flight. */
  readonly resetMs: number
  readonly backAt: string | null
  readonly toppedUp?: number
  /** Units of `used` that are on lease, reserved, or of requests that wait in line. */
  readonly held?: number
  /** Set with overage. */
  readonly over?: number
}

export interface DenialAnswer {
  readonly subject: string
  readonly plan: string
  readonly limit?: string
  readonly reason: string
  readonly source: string
  readonly first: string
  readonly last: string
  readonly count: number
  readonly cost: number
  readonly used?: number
  readonly quota?: number
  readonly waitMs: number | null
  readonly route?: string
}

export interface RuleAnswer {
  readonly kind: 'block' | 'override' | 'scale'
  readonly of: string
  readonly until: string
  readonly setAt?: string
  readonly by?: string
  readonly reason?: string
  /** Set for a block that came by itself. */
  readonly level?: number
  readonly factor?: number
  readonly concurrentFactor?: number
  /** The limits as they were given: texts such as `100/min`, or objects. */
  readonly limits?: unknown
  readonly plan?: string
}

export interface HistoryAnswer extends Omit<RuleAnswer, 'setAt' | 'kind'> {
  readonly kind: string
  readonly at: string
  readonly action: 'set' | 'lifted'
}

/** `GET api/rules`: the rules that hold now, and their latest changes (200 at most). */
export interface RulesAnswer {
  readonly rules: readonly RuleAnswer[]
  readonly history: readonly HistoryAnswer[]
}

/** `GET api/plans`: of each plan its limits and the customers that were seen on it in the last minute. */
export interface PlansAnswer {
  readonly coversMs: number
  readonly processes: number
  readonly plans: readonly (PlanAnswer & {
    /** Seen in the last minute, at most 200 in all: the busiest of all plans. */
    readonly busiest: readonly BusyAnswer[]
    readonly nearest: readonly NearAnswer[]
    /** The scale that holds for it. */
    readonly scale?: RuleAnswer
  })[]
}

/**
 * The body of `POST api/changes`. One of `for` (`'1h'`) and `until` for block, override and scale. A top-up without them ends with the
 * window of its limit.
 */
export interface ChangeBody {
  readonly kind: ChangeKind
  /** Of all but `scale`, and `lift` of a scale. `isAddress` for a client's address, `isPrefix` for all ids that begin so. */
  readonly id?: string
  readonly isAddress?: boolean
  readonly isPrefix?: boolean
  readonly plan?: string
  readonly for?: string
  readonly until?: string
  readonly reason?: string
  /** override, scale */
  readonly factor?: number
  /** override: instead of a factor, such as `['5000/min']` or `'unlimited'`. */
  readonly limits?: readonly string[] | 'unlimited'
  /** override: the plan whose limits it gets. */
  readonly toPlan?: string
  /** lift: which kind of rule. */
  readonly lifts?: 'block' | 'override' | 'scale'
  /** topUp, renew */
  readonly limit?: string
  readonly units?: number
  /** topUp, renew: the same key counts once, such as the order's number. */
  readonly key?: string
}

/** The answer to a change. `says` is a sentence. `done` is false if there was nothing to lift, or the key had counted already. */
export interface ChangeAnswer {
  readonly done: boolean
  readonly says: string
}

/** Errors: 400, 401, 403, 404, 405, 503, as `application/problem+json`. */
export interface ProblemAnswer {
  readonly type: 'about:blank'
  readonly title: string
  readonly status: number
  readonly detail: string
}
