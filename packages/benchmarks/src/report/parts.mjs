// The sections of the page, in order: what a reader sees, what it means, and how it was measured.
import * as means from './words/means.mjs'

/**
 * @typedef {object} Part
 * @property {string} title
 * @property {string[]} sections  of the run
 * @property {string[]} [charts]  shown first
 * @property {string} see         what charts and tables show
 * @property {(run: object) => string | undefined} means what it means for a reader, by the run's own figures
 * @property {string} method      for the fold
 */

/** @type {Part[]} */
export const PARTS = [
  {
    title: 'Throughput',
    sections: ['speed-1', 'speed-64', 'speed-512'],
    charts: ['speed'],
    see: "Each bar shows a limiter's decisions per second on one ioredis client, as a multiple of a bare `INCR` in the same round.",
    means: means.speed,
    method: `- *1 in flight*: the next request leaves when the last answer has come. Node and Redis each run on their own core, and wake each other for
  every request. That takes 5 to 40 µs, depending on the machine. The longer it takes, the more all contenders look like \`INCR\`.
  \`--cores together\` measures without it.
- *64 in flight*: 64 requests are pending at any time. *512 in flight*: Node is always busy, so its work per decision sets the rate.
- *Node µs* and *Redis µs* are CPU time per decision, of this process and of the whole server. *Bytes* are those on the wire, in each direction.
- *Bare EVALSHA* is a script that reads and writes one key. *Bare EVALSHA of batches* gathers requests as Tollgate does, but decides nothing.
  No limiter with a script can be faster.`,
  },
  {
    title: 'Latency',
    sections: ['latency'],
    charts: ['latency'],
    see: 'Each bar shows the median time of a decision (p50) at 4000 decisions per second.',
    means: means.latency,
    method: `4000 requests per second are sent, even if answers are slow. Each is timed from when it was due, so falling behind shows up as latency. The
longest times are mostly pauses of the garbage collector and the machine.`,
  },
  {
    title: 'Accuracy',
    sections: ['accuracy'],
    charts: ['accuracy'],
    see: 'A limit of 100 gets 300 requests around the end of a window. Each bar shows how many it lets through. 100 is right.',
    means: means.accuracy,
    method: `- *Over the seam*: one request at the start of a window of 2 s, 150 shortly before its end and 150 shortly after. The figure is how many of
  these 300 pass.
- *4 processes at once*: 200 requests from each of 4 processes, at once.
- *Second clock*: one process uses up a quota for 10 s. Then another process asks, with its clock 30 s ahead or behind.

Two numbers mean that repeats differed. The [worst cases](../guides/plans-and-limits.md#algorithms) of Tollgate's algorithms are documented. The
sliding log is exact, and the default.`,
  },
  {
    title: 'A flood from one denied tenant',
    sections: ['flood'],
    charts: ['flood'],
    see: 'One tenant is over its limit and keeps asking. Each bar shows the answers per second from one process, with 64 requests in flight.',
    means: means.flood,
    method: `rate-limiter-flexible can keep denied keys in the process's memory until the window ends (\`inMemoryBlockOnConsumed\`). With a token
bucket, the tenant gets a unit back every 60 ms and then passes once.`,
  },
  {
    title: 'HTTP',
    sections: ['http-express', 'http-fastify', 'http-koa'],
    charts: ['http-express', 'http-fastify', 'http-koa'],
    see: 'Each bar shows the requests per second of a tiny application behind a limiter, as a multiple of the same application without one.',
    means: means.http,
    method: `The application gives a small JSON answer to a request with an API key, behind each limiter's own middleware. rate-limiter-flexible and
\`INCR\` have none. Theirs is written by hand, sets no headers and answers a denial with 17 bytes. Server and client are separate processes.
Without a limiter, Fastify is so fast that the client takes a good part of the other core. So all ratios to it are a little too high.`,
  },
  {
    title: 'CPU time per HTTP request',
    sections: ['http-cpu'],
    see: "The tables compare Node's CPU time per request, with the memory store, to an application that sets the same headers by hand.",
    means: means.cpu,
    method: `The tables show Node's user and system time per request: with Tollgate, with another package's middleware, and *by hand*. That is a hook
which makes no decision, but sets the same headers (allowed) or answers the same 429 (denied). No limiter with these headers costs less.
Other packages send fewer headers and a shorter 429. Server and client share one core, because on two the interrupts between them count as
CPU time.`,
  },
  {
    title: "Redis's time per decision",
    sections: ['server'],
    charts: ['server'],
    see: 'Each bar shows the time Redis spends in commands for one decision, in batches of 64. The floor only reads and writes the keys.',
    means: means.server,
    method: `By \`commandstats\`: the time in which Redis runs the commands, without reading and writing sockets. Batches have 64 requests, over
10 000 subjects. The floor is one script that reads all keys, unpacks and packs 22 bytes, and writes each key back. No script that keeps its
state in a key does less. Denials reach the script here (\`denials: false\`).`,
  },
  {
    title: "Redis's memory",
    sections: ['bytes'],
    charts: ['bytes'],
    see: 'Each bar shows the memory that one subject takes in Redis.',
    means: means.bytes,
    method: `The figures are the growth of \`used_memory\` per subject: the key, its entry in Redis's tables, and its expiry. A subject's requests are
spread evenly over its window, on a simulated clock. A counter takes the same for any number of requests, and a log in a sorted set 20 to
126 bytes for each. The bare key holds only a time and a level. Redis's allocator gives it as much room as Tollgate's value.`,
  },
  {
    title: 'Decisions in memory',
    sections: ['in-memory'],
    charts: ['in-memory'],
    see: 'Each bar shows the time of one decision without Redis.',
    means: means.memory,
    method: `Decisions are awaited one after another, each contender in its own process. express-rate-limit's memory store adds one to an object per
key. It has no other limits, and gives no time to retry.`,
  },
  {
    title: 'More subjects, quota and limits',
    sections: ['growth'],
    charts: ['growth'],
    see: "Each line shows Redis's time per decision as one size grows: the subjects, the quota of a log, or the limits in a plan.",
    means: means.growth,
    method: `The time is Redis's, in batches of 64, as in [its section](#rediss-time-per-decision). By default a log remembers at most 128 times, and
finds its place without reading all of them. Quotas from 1000 on get 256 requests, so that the log is full. Bytes for few subjects are left
out, since the server's own needs exceed them. Sizes are measured one after another, so a single row that stands out may be due to the
machine.`,
  },
  {
    title: 'Leases',
    sections: ['leases'],
    see: 'The tables compare a plan with `lease: true` to the same plan without it.',
    means: means.leases,
    method: `The plan is a token bucket that denies nothing. Requests come 64 at a time, with a turn of the event loop after them, as from a network.
Without leases a command is a batch of requests, with leases mostly one renewal. None of the 10 000 tenants is busy enough for a lease.`,
  },
  {
    title: 'Commands against offered load',
    sections: ['lease-curve'],
    see: 'The tables show how many commands one tenant costs Redis as its requests per second grow, with and without leases.',
    means: means.leaseCurve,
    method: `One process or four ask for one tenant at a steady rate. The processes share a core. If the decisions per second stay below the rate, that
core is fully busy.`,
  },
  {
    title: 'Several processes on one Redis',
    sections: ['processes'],
    see: 'The tables compare 1 to 8 processes that share a Redis, each with 64 requests in flight.',
    means: means.processes,
    method: `The processes share the cores that Redis leaves. So rows with more processes than cores show only that nothing breaks down, not the best
speed.`,
  },
  {
    title: 'Cluster',
    sections: ['cluster'],
    see: 'The tables compare decisions on a cluster to a bare command to the same slot.',
    means: means.cluster,
    method: `The client is ioredis's cluster client. All primaries run on the same core, so the tables show the cost of a decision, not how much more
three machines can do.`,
  },
  {
    title: 'Requests in flight',
    sections: ['in-flight'],
    see: 'The tables compare a token bucket alone to one with an added limit for requests in flight.',
    means: means.inFlight,
    method: `Neither limit denies anything. A request takes a slot and gives it back, and the figures cover both. Redis's time is that of the store's
commands, while three other processes hold slots of each subject. *In line*: 50 requests arrive at once and do not fit the bucket yet. Each
gets a delay of up to half a second.`,
  },
  {
    title: 'An overloaded process',
    sections: ['shedding'],
    see: "The tables show the share of each plan's requests that an overloaded process answers within a second.",
    means: means.shedding,
    method: `Each answer of an Express application takes 5 ms of CPU time, so it can give about 190 per second. Requests come at random times, even if
answers are slow: 70 % from the plan free, 20 % from starter, and 10 % from pro, whose requests alone would fit. *Goodput* is the share of a
plan's requests that were answered with 200 within a second. A client gives up after a second, and does not ask again.`,
  },
  {
    title: 'Own limits',
    sections: ['own-limits'],
    see: 'The tables compare subjects that bring their own limits to subjects with a named plan.',
    means: means.ownLimits,
    method: `There are 10,000 subjects, and each request makes a new object: \`{ id, plan }\` with a plan of two limits, or \`{ id, limits }\` with
the same two limits in a list. Each contender has its own process, with one decision at a time in memory, and 64 on Redis.`,
  },
  {
    title: 'Billing days',
    sections: ['billing-days'],
    see: 'The tables compare subjects that are billed each on its own day to subjects of one day.',
    means: means.billingDays,
    method: `There are 10,000 subjects on one plan with a minute and a month. They signed up on 730 days, and live in four time zones. Each contender
has its own process, with one decision at a time in memory, and 64 on Redis. Redis's time is that of its commands.`,
  },
  {
    title: 'Figures about traffic',
    sections: ['traffic'],
    see: "The tables show how much of Node's CPU time it takes to count requests by subject.",
    means: means.traffic,
    method: `There are 10,000 subjects on one plan with a minute and a month. Each contender has its own process. Decisions are made one at a time in
memory, and 1, 64 and 512 at a time on Redis. While somebody looks, a process writes its figures every two seconds. A profile of the source code
with a sample each 200 µs says which share of the time was spent in the modules that count, merge and write figures, while Node was not
idle. Garbage collection counts as time, but nobody can say for whom it is done.`,
  },
  {
    title: 'Memcached',
    sections: ['memcached'],
    see: "The tables compare Tollgate's store on Memcached to `RateLimiterMemcache` of rate-limiter-flexible.",
    means: means.memcached,
    method: `The Memcached is real. Tollgate uses its own connection, the package memcached, or memjs. rate-limiter-flexible accepts only the package
memcached. Tollgate's windows slide, and those of rate-limiter-flexible are fixed.

- Commands are those that Memcached counts in \`stats\`. *Changes* are increments, decrements and sets. Tollgate makes one per decision, and
  ten a second for the shared clock.
- *Reads* are gets. Tollgate reads the previous window's counter once a second for each tenant, and the clock, in the same trip as a
  decision.
- Requests for one tenant that come together share one command.
- In the flood, both packages deny from memory, except in the rows *denials: false* and *package memcached* of rate-limiter-flexible.`,
  },
  {
    title: 'Accuracy on Memcached',
    sections: ['memcached-accuracy'],
    see: 'Four processes with different clocks ask for one tenant. The table shows how many requests a limit of 200 per second lets through.',
    means: means.memcachedClocks,
    method: `The clocks are 0, 2 and 4 s ahead, and 2 s behind. Each process has 20 callers, which pause for 2 ms after a denial; denials are
remembered. *Most* counts the decisions that lie entirely in a window of true time, 0.25 s shorter than the limit's. Its stated
[bound](../guides/plans-and-limits.md#algorithms) is just under two quotas. *In 60 s* counts from the first request on. An exact counter, such as a
sliding log, lets the quota in at once, and again each second. A sliding window can let in slightly more if the run begins in the middle of
a window.`,
  },
  {
    title: 'Import time and size',
    sections: ['import'],
    see: 'The tables show how long a fresh process takes to load each package, and how large the packages are.',
    means: means.imports,
    method: `A fresh process loads one package and ends. The figure is how much longer that takes than with no package. It uses \`import\` unless the row
says \`require\`. Loaded files include dependencies, but no frameworks. *kB of the package* is all JavaScript that it publishes in this format.`,
  },
]
