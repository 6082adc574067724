import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { createLimiter } from '@tollgate/core'
import { check, deadlineMs, listen, makeStore, play } from '@tollgate/example-kit'
import { WebSocket, WebSocketServer } from 'ws'

const BURST = 20

const { store, close } = makeStore()
// At most 20 messages at once, then 10 a second.
const limiter = createLimiter({ store, limit: `10/s burst ${BURST}`, deadlineMs })

const server = createServer()
const sockets = new WebSocketServer({ server, maxPayload: 16_384 })
sockets.on('connection', (socket, request) => {
  // Without a listener, one frame that is broken would end the process for everyone; ws closes the socket.
  socket.on('error', () => {})
  // Not by `new URL`, which throws at what some clients send.
  const id = new URLSearchParams(request.url.split('?')[1]).get('user')
  if (!id) {
    socket.close(1008, 'who are you? Connect with ?user=')
    return
  }
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
  const send = (count) =>
    new Promise((resolve) => {
      const answers = []
      const collect = (data) => {
        answers.push(JSON.parse(data))
        if (answers.length < count) return
        socket.off('message', collect)
        resolve({ passed: answers.filter(({ echo }) => echo).length, last: answers.at(-1) })
      }
      socket.on('message', collect)
      for (let i = 0; i < count; i += 1) socket.send(`message ${i}`)
    })
  return { socket, send }
}

/** What a client can do that is none; resolves when the server has closed on it. */
async function breakFrame(url) {
  const socket = connectTcp(new URL(url).port, '127.0.0.1')
  const key = Buffer.alloc(16).toString('base64')
  const fields = [
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${key}`,
    'Sec-WebSocket-Version: 13',
  ]
  socket.write(`GET //?user=eve HTTP/1.1\r\nHost: x\r\n${fields.join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  socket.write(Buffer.from([0xff, 0xff, 0, 0]))
  await once(socket.resume(), 'close')
}

async function drive(url) {
  const ada = await connect(url, 'ada')
  const bob = await connect(url, 'bob')
  const start = performance.now()
  const { passed, last } = await ada.send(100)
  const most = BURST + Math.ceil((performance.now() - start) / 100)
  check('of 100 messages at once the burst passes, and what refills', passed >= BURST && passed <= most, true)
  check(
    'the rest are told when to come back',
    last.limited && last.retryAfterMs > 0 && last.retryAfterMs <= 100,
    true,
  )
  check('bob does not notice', (await bob.send(10)).passed, 10)
  await new Promise((resolve) => setTimeout(resolve, last.retryAfterMs))
  check(
    'ada waits as told, and goes on, still connected',
    [(await ada.send(1)).passed, ada.socket.readyState],
    [1, WebSocket.OPEN],
  )
  const nobody = await connect(url, '')
  const [code] = await once(nobody.socket, 'close')
  check('who does not say who it is, is sent away', code, 1008)
  await breakFrame(url)
  check('what breaks the protocol harms nobody else', (await bob.send(1)).passed, 1)
  for (const { socket } of [ada, bob]) socket.close()
}

const url = await listen(server)
await play({
  url,
  drive,
  hint: [`npx wscat -c '${url.replace('http', 'ws')}/?user=ada'   # each line you type is a message`],
  close: async () => {
    for (const socket of sockets.clients) socket.terminate()
    sockets.close()
    server.closeAllConnections()
    server.close()
    await limiter.close()
    await close()
  },
})
