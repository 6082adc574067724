/** The folders of the published packages. */
export const PUBLISHED: readonly string[] = ['core', 'express', 'fastify', 'koa', 'metrics', 'store-contract']
