/** The folders of the published packages. */
export const PUBLISHED: readonly string[] = [
  'admin',
  'cli',
  'core',
  'express',
  'fastify',
  'koa',
  'memcached',
  'metrics',
  'store-contract',
  'stores',
]
