// What TypeScript accepts and refuses: each line below a `@ts-expect-error` must be an error. The type check of the package is the
// test; nothing here is called.
import Fastify, {
  type FastifyPluginAsync,
  type FastifyPluginCallback,
  type FastifyPluginOptions,
  type FastifyRegisterOptions,
} from 'fastify'
import { rateLimit, type RateLimitPluginOptions, type RouteRateLimitOptions } from '../../src/index.js'
import { byKey, ok } from './app.ts'

const plans = { free: '1/min', pro: '2/min' } as const

export const ofPlans = async (): Promise<void> => {
  const app = Fastify()
  await app.register(rateLimit, { plans, defaultPlan: 'free', prefix: '/api', identify: ({ ip }) => ip })
  await app.register(rateLimit, {
    plans,
    identify: ({ headers }) => ({ id: headers.host ?? '', plan: 'pro' }),
  })
  await app.register(rateLimit, () => ({ plans, defaultPlan: 'pro' }))
  await app.register(rateLimit, { limit: '1/min', onDenied: (_request, reply) => reply.code(429).send('no') })
  // The contexts of others know their parameters as before.
  app.register(async (inner) => inner.register(rateLimit, { limit: '1/min' }), { prefix: '/inner' })
  // @ts-expect-error: fre is no plan
  await app.register(rateLimit, { plans, defaultPlan: 'fre' })
  // @ts-expect-error: there is no such option
  await app.register(rateLimit, { limt: '1/min' })
}

export const ofHttp2 = (): unknown => {
  const app = Fastify({ http2: true })
  return app.addHook('onRequest', app.rateLimit()).addHook('preHandler', app.rateLimit({ cost: 2 }))
}

/** `register` as NestJS and other hosts of Fastify declare it. */
export const ofHosts = (
  register: <Options extends FastifyPluginOptions>(
    plugin: FastifyPluginCallback<Options> | FastifyPluginAsync<Options>,
    options?: FastifyRegisterOptions<Options>,
  ) => Promise<void>,
): unknown => [
  register(rateLimit, { plans, identify: byKey, onDenied: (_request, reply) => reply.code(429).send('no') }),
  register<RateLimitPluginOptions>(rateLimit, { plans, defaultPlan: 'pro' }),
  // @ts-expect-error: there is no such option
  register(rateLimit, { limt: '1/min' }),
]

export const ofRoutes = async (): Promise<void> => {
  const app = Fastify()
  // @ts-expect-error: a text is no cost
  app.get('/', { config: { rateLimit: { cost: 'five' } } }, ok)
  // TypeScript takes what stands in `config` for the type of it, so a wrong name needs `satisfies` to be found.
  // @ts-expect-error: there is no such option
  app.get('/', { config: { rateLimit: { csot: 5 } satisfies RouteRateLimitOptions } }, ok)
  // @ts-expect-error: there is no such option
  app.get('/', { preHandler: app.rateLimit({ csot: 5 }) }, ok)
  // @ts-expect-error: it belongs to the plugin
  app.get('/', { config: { rateLimit: { plans } satisfies RouteRateLimitOptions } }, ok)
}
