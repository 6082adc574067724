// The words around the sections of the page. parts.mjs has those of each section.

export const OPENING = `This page compares Tollgate's speed, accuracy and memory with those of express-rate-limit, @fastify/rate-limit, koa-ratelimit and
rate-limiter-flexible, on one small machine. A bare Redis \`INCR\` and a bare script show the most that any limiter could do. Each section
explains its charts and what they mean for you. Tables and methods are in the folds.

To repeat the benchmarks, run \`npm run bench\` on an idle machine. It takes 20 to 30 minutes, or 4 with \`npm run bench -- --quick\`.`

export const TO_REACH = `These are the project's own targets, as medians of ratios within a round. If a target is not reached, the last column
shows what the machine allows, in the same unit:

- A single request cannot be faster than the bare script, which reads and writes one key.
- Many requests at once cannot be faster than the bare script of batches, and no batch can beat the floor.
- An HTTP request that asks Redis cannot be faster than the bare \`INCR\`. A request that is denied from memory can, since it does not ask Redis.
- No request can be faster than the application without a limiter.`

export const ALT = {
  speed: 'Bars: decisions per second, as a multiple of a bare INCR',
  latency: 'Bars: median latency at 4000 decisions per second',
  server: 'Bars: microseconds of Redis per decision, beside the floor',
  flood: 'Bars: answers per second in a flood of one denied tenant',
  'in-memory': 'Bars: microseconds per decision in memory',
  bytes: 'Bars: bytes in Redis per subject',
  'http-express': 'Bars: requests per second of Express, as a multiple of no limiter',
  'http-fastify': 'Bars: requests per second of Fastify, as a multiple of no limiter',
  'http-koa': 'Bars: requests per second of Koa, as a multiple of no limiter',
  accuracy: 'Bars: requests let through around the end of a window by a limit of 100',
  growth: 'Lines: microseconds of Redis by the number of subjects, the quota and the limits',
}

export const CAVEATS = `- One machine with few cores runs the client, Redis and the contenders. Trust ratios within one run more than figures from different
  runs. Another machine gives other figures.
- Node has one core and Redis the other, set with \`taskset\`. With both on one core, a single request is faster and batches gain less.
- All connections are local, without TLS. Over a network, the trip to Redis takes longer than anything measured here. So each saved trip
  gains more than these figures show.
- Each figure comes from a fraction of a second, with warm caches, over keys that are used a few times each.
- Other packages are called directly, without their middleware, which flatters them a little. The HTTP sections use the real middleware.
- Limiters answer different questions. A fixed window counts one number, while a sliding log knows when each unit comes back.
  [Accuracy](#accuracy) shows the difference.
- Other packages run with the settings that their own pages recommend, on an ioredis client with default settings that sends nothing twice.
  Auto-pipelining saves Redis work for them, but hardly any for Node.
- Redis's CPU time covers the whole server, with its timers.
- A shifted clock means \`Date.now\` in one process, not the machine's clock.
- These figures are not meant to compare Express, Fastify and Koa with each other.`
