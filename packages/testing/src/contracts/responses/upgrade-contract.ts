import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request, type IncomingMessage, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { transformSync } from '@swc/core'
import type { Limiter } from '@tollgate/core'

const PAGE = join(__dirname, '../../../../../docs/guides/frameworks.md')

/** The exports of a framework's recipe. */
interface Recipe {
  readonly server: Server
  readonly limiter: Limiter
  /** `ready` only in Fastify: it loads plugins asynchronously. */
  readonly app: { readonly ready?: () => PromiseLike<unknown> }
}

/** Its programs use `await` at the top level. */
const AsyncFunction = (async () => {}).constructor as new (
  ...text: string[]
) => (...given: unknown[]) => Promise<void>

/** Runs the program for a framework on the page about upgrades. */
async function runRecipe(framework: string, sockets: object, load: (id: string) => unknown): Promise<Recipe> {
  const programs = [...readFileSync(PAGE, 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(
    ([, code = '']) => code,
  )
  const program = programs.find(
    (code) => code.includes("'upgrade'") && code.includes(`@tollgate/${framework}'`),
  )
  if (!program) throw new Error(`${PAGE} has no program for upgrades in ${framework}`)
  const { code } = transformSync(`${program}\nexport { server, limiter, app }`, {
    module: { type: 'commonjs' },
    jsc: { target: 'es2022' },
  })
  const exports = {}
  // oxlint-disable-next-line no-implied-eval, no-new-func
  await new AsyncFunction('require', 'exports', 'sockets', code)(load, exports, sockets)
  const recipe = exports as Recipe
  await recipe.app.ready?.()
  return recipe
}

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Asks for a WebSocket like a client does. */
function upgrade(port: number, headers: Record<string, string>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({
      host: '127.0.0.1',
      port,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': Buffer.alloc(16).toString('base64'),
        'sec-websocket-version': '13',
        ...headers,
      },
    })
    asked.on('upgrade', ({ statusCode, headers: given }, socket: Socket) => {
      socket.destroy()
      resolve({ status: statusCode, headers: given, body: '' })
    })
    asked.on('response', (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () => {
        const { statusCode: status, headers: given } = response
        resolve({ status, headers: given, body: Buffer.concat(parts).toString() })
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}

/**
 * The page's claims about upgrades in a framework: middleware does not see them, and its recipe limits them.
 *
 * @param load loads the modules that the program imports
 * @param bare makes an application whose middleware allows one request a minute
 */
export function upgradeContract(
  framework: string,
  load: (id: string) => unknown,
  bare: () => Promise<Server>,
): void {
  describe(`upgrades, ${framework}`, () => {
    const handleUpgrade = jest.fn((_req: unknown, socket: Duplex) => {
      // After an upgrade, Node never closes the socket itself, and a server cannot close while one of its sockets is
      // open.
      socket.once('finish', () => socket.destroy())
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    })
    let server: Server | undefined
    const listen = async (made: Server): Promise<number> => {
      server = made.listen(0, '127.0.0.1')
      await once(server, 'listening')
      return (server.address() as AddressInfo).port
    }
    afterEach(async () => {
      server?.closeAllConnections()
      server?.close()
      if (server) await once(server, 'close')
      server = undefined
    })

    test('middleware does not see them', async () => {
      const made = await bare()
      made.on('upgrade', (req, socket) => handleUpgrade(req, socket))
      const port = await listen(made)
      for (let i = 0; i < 3; i += 1) expect((await upgrade(port, {})).status).toBe(101)
    })

    test('are limited by the program on the page, together with the requests of the same tenant', async () => {
      const recipe = await runRecipe(framework, { handleUpgrade, emit: () => true }, load)
      const port = await listen(recipe.server)
      const acme = { 'x-api-key': 'key-of-acme' }
      const answers = []
      for (let i = 0; i < 101; i += 1) answers.push(await upgrade(port, acme))
      expect(answers.slice(0, 100).map(({ status }) => status)).toEqual(Array(100).fill(101))
      const denied = answers[100]
      expect(denied?.status).toBe(429)
      expect(denied?.headers).toMatchObject({
        'retry-after': expect.stringMatching(/^(5\d|60)$/),
        'content-type': 'application/problem+json',
        'cache-control': 'no-store',
        connection: 'close',
        'ratelimit-remaining': '0',
      })
      expect(JSON.parse(denied?.body ?? '')).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
      expect((await fetch(`http://127.0.0.1:${port}/`, { headers: acme })).status).toBe(429)
      // A request with an unknown key counts by address.
      expect((await upgrade(port, { 'x-api-key': 'made up' })).status).toBe(101)
      await recipe.limiter.close()
    })

    test('a refused client cannot keep the connection open', async () => {
      const recipe = await runRecipe(framework, { handleUpgrade, emit: () => true }, load)
      const port = await listen(recipe.server)
      for (let i = 0; i < 100; i += 1) await recipe.limiter.consume('acme')
      const client = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
      client.write(
        'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-API-Key: key-of-acme\r\n\r\n',
      )
      await once(client.resume(), 'end')
      const count = await new Promise((resolve, reject) =>
        recipe.server.getConnections((error, found) => (error ? reject(error) : resolve(found))),
      )
      client.destroy()
      expect(count).toBe(0)
      await recipe.limiter.close()
    })
  })
}
