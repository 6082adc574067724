// What the page says around its figures.

/** By section: what is measured, in plain words, and the charts below it. */
export const PROSE = {
  'speed-1': `One request at a time, as in most services: the next one leaves when the last answer is there. What a limiter
costs beyond one trip to Redis shows here. A bare script, which reads and writes one key, shows how far any script can get.
Node and Redis run on a core each and wake each other for every request. That takes 5 to 40 µs, depending on the machine: where
it takes long, all contenders look like INCR. \`--cores together\` measures without it.`,
  'speed-64': `64 requests are pending at any time. Node's and Redis's microseconds are CPU time a decision: of this process, and of
the whole server by its own count. Bytes are those on the wire, one way each. The bare script of batches gathers requests as
Tollgate does, reads and writes each key and decides nothing: what is beyond it no limiter with a script can reach.`,
  'speed-512': `The same with 512. Node is busy without a pause here, so the decisions a second are what Node's work a decision leaves
room for.`,
  latency: `4000 requests a second are sent whatever the answers do, and each is counted from when it was due. So a contender that
falls behind shows it. The longest ones are mostly pauses of the garbage collector and of the machine.`,
  server: `By \`commandstats\`: what Redis takes to run the commands, without reading and writing sockets. Batches of 64 requests over
10 000 subjects. The floor is one script that reads all keys, unpacks and packs 22 bytes and writes each back; no script that
keeps its state in a key does less. Denials reach the script here: \`denials: false\`.`,
  flood: `One tenant is over its limit and goes on. rate-limiter-flexible can keep such keys in the memory of the process, until the
window ends (\`inMemoryBlockOnConsumed\`). With a token bucket a tenant gets a unit back every 60 ms, and is let through then.`,
  'in-memory': `No Redis: the limits of one process. One awaited decision after another, each contender in a process of its own.
express-rate-limit's own memory store counts an object a key up, and tells neither other limits nor when to retry.`,
  bytes: `What \`used_memory\` grows by, over the subjects: with the key, its entry in the tables of Redis, and its expiry. The requests
of a subject are spread evenly over its window by a clock that the store is given. A counter takes the same for any number of
requests, a log in a sorted set takes 20 to 126 bytes for each. The bare key has a time and a level in it and no more: Redis's
allocator gives it as much room as Tollgate's value.`,
  'http-express': `A small JSON answer to a request with an API key, behind each limiter's own middleware. rate-limiter-flexible and INCR
have none: theirs is written by hand, sets no headers and answers a denial with 17 bytes. Server and client are processes of
their own.`,
  'http-fastify': `As above. Without a limiter Fastify is so fast that the client takes a good part of the other core: ratios to it are
a little too high for all.`,
  'http-koa': 'As above.',
  'http-cpu': `User and system time of Node a request, with the memory store: the same small application behind Tollgate, behind the
middleware of a peer, and behind a hook that sets what Tollgate answers, with no decision. By hand, the application sets the same headers
(allowed), or answers the same 429 (denied): no limiter with these headers costs less. Peers send fewer headers and a shorter 429.
Server and client share one core. On two, the interrupts that wake a process on the other core count as its CPU time.`,
  import: `A fresh process each, which loads one package and ends: wall time beyond that of a process that loads nothing. \`import\`, unless
the row says \`require\`. Loaded are files of JavaScript, with those of dependencies; frameworks are not among them. *kB of the package*: all
JavaScript that it publishes in this format.`,
  accuracy: `A limit of 100. *Over the seam*: one request when a window of 2 s begins, 150 shortly before its end and 150 shortly after,
like the seconds 58 and 02 of a minute; told is how many of these 300 pass. *4 processes at once*: 4 x 200 requests
together. *Second clock*: a process uses the quota of 10 s up, then one whose clock is 30 s ahead or behind asks. Where two
numbers stand, repeats differed. The worst cases of Tollgate's algorithms are
[known](../guides/plans-and-limits.md#algorithms); the sliding log is exact, and the default.`,
  growth: `Redis's time a decision in batches of 64, as in [the section on it](#rediss-time-a-decision). A log remembers at most 128
times by default, and finds its place without reading all of them. The quotas from 1000 on are given 256
requests, twice what the log tells apart. The bytes of few subjects are left out: what the server needs for itself is more
than theirs. Sizes are measured one after another and not in turns, so a single row that stands out may be the machine.`,
  processes: `Each process keeps 64 requests in flight. Processes and the client share what Redis leaves of the cores, so more processes
than cores show that nothing breaks down, and not how fast they could be.`,
  cluster: `ioredis's cluster client. All primaries run on the core that Redis has in this run: the question is what a decision costs
beside a bare command to its slot, not how much more three machines can do.`,
  leases: `A plan with \`lease: true\` beside the same plan without it, a token bucket that denies nothing. Requests come 64 at a time, and
the event loop has a turn after them, as with requests from a network. One command can carry several requests: without leases
a batch of them, with leases mostly one renewal. None of the 10 000 tenants is asked for often enough to be leased.`,
  'lease-curve': `One tenant is asked for at a steady rate, by one process or by four that share it. The processes share a core, so where the
decisions a second stay below what is asked for, that core is busy.`,
  'in-flight': `A token bucket, alone and with a limit of requests in flight beside it, neither of which denies anything. A request begins
and gives its slot back, so its price is that of both. Redis's time is that of the store's commands, with three other processes that
have slots of each subject. In line: 50 requests at once that the bucket has no room for yet, each of which is told a
delay of up to half a second.`,
  memcached: `A real Memcached: Tollgate by its own connection, on the package memcached and on memjs, and rate-limiter-flexible on the
package memcached, the only client that it takes. Tollgate's windows slide, those of rate-limiter-flexible are fixed. Commands are those
that Memcached counts by \`stats\`. *Changes* are increments, decrements and sets: of Tollgate one a decision, and ten times a second the
common clock. *Reads* are gets: of Tollgate the counter of the window before, once a second for each tenant, and the clock; both go with
a decision, in the same trip. Requests of one tenant that come together are one command. In the flood, denials come from
memory, as each package can do it, but in the rows \`denials: false\` and *package memcached* of rate-limiter-flexible.`,
  'memcached-accuracy': `Four processes, whose clocks are 0, 2, 4 s ahead and 2 s behind, ask for one tenant: 20 callers each, which pause for 2 ms after
a denial; denials are remembered. *Most*: of the decisions that lie wholly in any true window that is 0.25 s shorter than the limit's,
where the [bound](../guides/plans-and-limits.md#algorithms) is just under two quotas. *In 60 s*: from the first request on. An exact counter, such
as a sliding log, lets the quota in at once, and once more each second. A sliding window can let in a little more: by as much as its
first window is shorter than a second.`,
  shedding: `An application on Express whose every answer takes 5 ms of the processor, so about 190 a second. Requests come at random
times whatever the answers do: 70 % of the plan free, 20 % of starter, 10 % of pro, whose demand alone fits. *Goodput* is the part of a plan's
requests that were answered with 200 within a second. A client gives up after a second, and does not ask again.`,
  'own-limits': `10,000 subjects, each request with a subject that is made anew: \`{ id, plan }\` with a plan for each of
the limits, or \`{ id, limits }\` with the same two limits in a list of its own. Each contender has a process, and is asked for one decision at a time in memory, for 64 on Redis.`,
}

export const TO_REACH = `What the project set itself, as medians of ratios within a round, and how far it got. Where a target is not reached, the
last column has what the machine allows, in the same unit. A lone request cannot beat the bare script, which reads and
writes one key; many at once cannot beat the bare script of batches; and a batch cannot beat the floor. A request by HTTP
that asks Redis cannot beat the bare \`INCR\`; one that is denied from memory asks nothing, and can. None can beat the
application without a limiter.`

export const CHARTS_BELOW = {
  'speed-1': ['speed'],
  ...Object.fromEntries(
    [
      'latency',
      'server',
      'flood',
      'in-memory',
      'bytes',
      'http-express',
      'http-fastify',
      'http-koa',
      'accuracy',
      'growth',
    ].map((name) => [name, [name]]),
  ),
}

export const ALT = {
  speed: 'Decisions a second, as a multiple of a bare INCR',
  latency: 'Bars: median latency at 4000 decisions a second',
  server: 'Bars: microseconds of Redis a decision, beside the floor',
  flood: 'Bars: answers a second in a flood of one denied tenant',
  'in-memory': 'Bars: microseconds of a decision in memory',
  bytes: 'Bars: bytes of Redis a subject',
  'http-express': 'Bars: requests a second of Express, as a multiple of no limiter',
  'http-fastify': 'Bars: requests a second of Fastify, as a multiple of no limiter',
  'http-koa': 'Bars: requests a second of Koa, as a multiple of no limiter',
  accuracy: 'Bars: requests let through around the end of a window by a limit of 100',
  growth: 'Lines: microseconds of Redis against the number of subjects, the quota and the limits',
}

export const CAVEATS = `- One machine with few cores runs the client, Redis and what is measured. Ratios within one run say more than figures
  between runs; figures of other machines are others.
- Node has one core and Redis the other, fixed by \`taskset\`. On one core together a lone request is faster and batches
  gain less. Left to the kernel, a run is one or the other by chance.
- Everything is on 127.0.0.1, without TLS. With a network in between, one trip a decision weighs more than all else here,
  and what saves a trip gains more than is shown.
- Cells last a fraction of a second, with warm caches, over keys that are asked a few times each.
- Peers are called at the shortest entry that decides: their store or limiter without its middleware. This flatters them a
  little. The HTTP sections go through the real middleware.
- Limiters answer different questions. A fixed window counts one number; a sliding log knows when each unit comes back.
  [Accuracy](#accuracy) shows what the difference is worth.
- Peers run with the settings that their own pages recommend, on one ioredis client with its defaults, but that it sends
  nothing twice. With auto-pipelining Redis works less for them, and Node hardly less.
- \`used_cpu\` is that of the whole server, its timers included.
- The clock that is shifted is \`Date.now\` of one process, not the clock of a machine.
- Express, Fastify and Koa are not to be compared with each other by these figures.`
