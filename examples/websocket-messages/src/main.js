import { once } from 'node:events'
import { createServer } from 'node:http'
import { createLimiter } from '@tollgate/core'
import { check, listen, makeStore, play } from '@tollgate/example-kit'
import { WebSocket, WebSocketServer } from 'ws'

const { store, close } = makeStore()
// At most 20 messages at once, then 10 a second.
const limiter = createLimiter({ store, limit: '10/s burst 20', deadlineMs: 1000 })

const server = createServer()
const sockets = new WebSocketServer({ server })
sockets.on('connection', (socket, request) => {
  const id = new URL(request.url, 'ws://localhost').searchParams.get('user') ?? 'nobody'
  socket.on('message', async (message) => {
    const { allowed, retryAfterMs } = await limiter.consume(id)
    // Whoever floods is told when to come back, and stays connected.
    if (allowed) socket.send(JSON.stringify({ echo: String(message) }))
    else socket.send(JSON.stringify({ limited: true, retryAfterMs }))
  })
})

async function connect(url, user) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/?user=${user}`)
  await once(socket, 'open')
  /** Sends so many messages at once; resolves with all answers. */
  const send = async (count) => {
    const answers = []
    const done = new Promise((resolve) => {
      const collect = (data) => {
        answers.push(JSON.parse(data))
        if (answers.length < count) return
        socket.off('message', collect)
        resolve()
      }
      socket.on('message', collect)
    })
    for (let i = 0; i < count; i += 1) socket.send(`message ${i}`)
    await done
    return { passed: answers.filter(({ echo }) => echo).length, last: answers.at(-1) }
  }
  return { socket, send }
}

await play({
  url: await listen(server),
  hint: ["npx wscat -c 'ws://localhost:3000/?user=ada'"],
  drive: async (url) => {
    const ada = await connect(url, 'ada')
    const bob = await connect(url, 'bob')
    const { passed, last } = await ada.send(100)
    check(
      'of 100 messages at once the burst of 20 passes, and what refills meanwhile',
      passed >= 20 && passed < 30,
      true,
    )
    check(
      'the rest are told when to come back',
      last.limited && last.retryAfterMs > 0 && last.retryAfterMs <= 100,
      true,
    )
    check('bob does not notice', (await bob.send(10)).passed, 10)
    await new Promise((resolve) => setTimeout(resolve, last.retryAfterMs))
    check(
      'ada waits as told, and goes on',
      [(await ada.send(1)).passed, ada.socket.readyState],
      [1, WebSocket.OPEN],
    )
    for (const { socket } of [ada, bob]) socket.close()
  },
  close: async () => {
    for (const socket of sockets.clients) socket.terminate()
    sockets.close()
    server.closeAllConnections()
    server.close()
    await limiter.close()
    await close()
  },
})
