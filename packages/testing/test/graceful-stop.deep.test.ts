import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, startRedis } from '../src/index.ts'

const examples = resolve(__dirname, '../../../examples')

/** Starts an application like an operator. It runs until a signal. */
async function start(
  name: string,
  redisUrl: string,
): Promise<{ ask(): Promise<Response>; stop(): Promise<unknown> }> {
  const port = String(await freePort())
  const program = join(examples, name, 'src/app.js')
  const env = { ...process.env, REDIS_URL: redisUrl, PORT: port }
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const crashed = once(child, 'exit').then(() => Promise.reject(new Error(`${name} did not start`)))
  await Promise.race([once(child.stdout, 'data'), crashed])
  crashed.catch(() => {})
  return {
    ask: () => fetch(`http://127.0.0.1:${port}/items`, { headers: { 'x-api-key': 'key-of-globex' } }),
    stop: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      const late = sleep(20_000, ['it did not end'], { ref: false })
      const [code] = (await Promise.race([exited, late])) as unknown[]
      child.kill('SIGKILL')
      return code
    },
  }
}

describe.each(['saas-express', 'saas-fastify', 'saas-koa'])('%s ends at a signal by itself', (name) => {
  test.each(['there', 'hanging', 'gone'])('with a Redis that is %s', async (how) => {
    const redis = await startRedis()
    try {
      const app = await start(name, redis.url)
      expect((await app.ask()).status).toBe(200)
      if (how === 'hanging') redis.pause()
      if (how === 'gone') await redis.kill()
      // Pending requests are answered, and nothing that waits for Redis keeps the process alive.
      for (let i = 0; i < 4; i += 1) expect((await app.ask()).status).toBe(200)
      expect(await app.stop()).toBe(0)
    } finally {
      redis.resume()
      await redis.kill()
    }
  })
})
