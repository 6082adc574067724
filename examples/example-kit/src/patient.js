// A busy machine must not look like a fault of Redis, and a run must find nothing counted: so limiters wait for long, and
// count under a prefix of their own.

/** The limiters that the example made, in order. */
export const limiters = []

/** The functions of Tollgate that examples call to make limiters and stores. */
export function patient({ createLimiter, redisStore }) {
  const options = JSON.parse(process.env.EXAMPLE_OPTIONS ?? '{}')
  return {
    createLimiter: (given) => {
      const limiter = createLimiter({ ...given, ...options })
      limiters.push(limiter)
      return limiter
    },
    redisStore: (client, given) =>
      redisStore(client, { ...given, prefix: `example-${process.env.EXAMPLE_RUN}` }),
  }
}
