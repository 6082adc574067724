/** The packages that are published, by their folders. */
export const PUBLISHED: readonly string[] = ['core', 'express', 'fastify', 'koa', 'metrics']
