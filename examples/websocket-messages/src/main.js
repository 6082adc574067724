// Tries the example. The order matters: the kit says which port and counters are the example's.
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { check, eventually, play, statuses } from '@tollgate/example-kit'
import { WebSocket } from 'ws'
import * as app from './app.js'

/** The burst of the example's limit. */
const BURST = 20

const clientOf = (url, user) =>
  new WebSocket(url.replace('http', 'ws'), { headers: { 'x-api-key': `key-of-${user}` } })

async function connect(url, user) {
  const socket = clientOf(url, user)
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

/** The answer to a client that asks for a socket: 101, or that of the refusal, which comes before any handshake. */
async function answerTo(url, user) {
  const socket = clientOf(url, user)
  socket.on('error', () => {}) // of one that was refused, and is dropped
  const answer = await new Promise((resolve) => {
    socket.once('open', () => resolve({ status: 101 }))
    socket.once('unexpected-response', (_request, { statusCode: status, headers }) =>
      resolve({ status, headers }),
    )
  })
  if (answer.status === 101) sockets.push(socket)
  else socket.terminate()
  return answer
}
const statusOf = async (url, user) => (await answerTo(url, user)).status
/** Those that it opened. */
const sockets = []

async function driveOpen(url) {
  const ofCleo = await statuses(4, () => answerTo(url, 'cleo'))
  check('a free user has three sockets, and the fourth is refused', ofCleo, { 101: 3, 429: 1 })
  check('a pro user has more', await statuses(4, () => answerTo(url, 'bob')), { 101: 4 })
  sockets[0].close()
  check('when one is closed, another may open', await eventually(() => statusOf(url, 'cleo'), 101), 101)
  for (const socket of sockets) socket.terminate()
  check('in the end none is open', await eventually(() => app.open.stats().inFlight, 0), 0)
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
    'X-API-Key: key-of-cleo',
  ]
  socket.write(`GET // HTTP/1.1\r\nHost: x\r\n${fields.join('\r\n')}\r\n\r\n`)
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
  await breakFrame(url)
  check('what breaks the protocol harms nobody else', (await bob.send(1)).passed, 1)
  for (const { socket } of [ada, bob]) socket.terminate()
  await eventually(() => app.open.stats().inFlight, 0)
  await driveOpen(url)
  await driveRefused(url)
}

/** A client that guesses keys never gets a socket. */
async function driveRefused(url) {
  const seen = await statuses(32, (i) => answerTo(url, `made-up-${i}`))
  check('an unknown key gets 401, and whoever goes on guessing 429', seen, { 401: 30, 429: 2 })
  const { headers } = await answerTo(url, 'made-up')
  check('with a time to come back', Number(headers['retry-after']) > 0, true)
}

const hint = (url) => [
  `npx wscat -c '${url.replace('http', 'ws')}' -H 'x-api-key: key-of-ada'   # each line you type is a message`,
  `npx wscat -c '${url.replace('http', 'ws')}' -H 'x-api-key: made-up'      # 401: no socket was ever open`,
]

await play(app, { drive, hint })
