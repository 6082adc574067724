// Runs the example; with --once it also asks it and checks the answers.
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { check, eventually, play, statuses } from '../example-kit/src/index.js'
import { WebSocket } from 'ws'

/** The burst of the example's limit. */
const BURST = 20

const clientOf = (url, user) =>
  new WebSocket(url.replace('http', 'ws'), { headers: { 'x-api-key': `key-of-${user}` } })

async function connect(url, user) {
  const socket = clientOf(url, user)
  await once(socket, 'open')
  /** Sends this many messages at once. Resolves to how many passed, and to the last denial. */
  const send = (count) =>
    new Promise((resolve) => {
      const answers = []
      const collect = (data) => {
        answers.push(JSON.parse(data))
        if (answers.length < count) return
        socket.off('message', collect)
        resolve({
          passed: answers.filter(({ echo }) => echo).length,
          denial: answers.findLast(({ limited }) => limited),
        })
      }
      socket.on('message', collect)
      for (let i = 0; i < count; i += 1) socket.send(`message ${i}`)
    })
  return { socket, send }
}

/** The answer to a client that asks for a socket: 101, or the status before any handshake. */
async function answerTo(url, user) {
  const socket = clientOf(url, user)
  socket.on('error', () => {}) // a refused socket is dropped
  const answer = await new Promise((resolve) => {
    socket.once('open', () => resolve({ status: 101 }))
    socket.once('unexpected-response', (_request, { statusCode: status, headers }) =>
      resolve({ status, headers }),
    )
  })
  if (answer.status === 101) openedHere.push(socket)
  else socket.terminate()
  return answer
}
const statusOf = async (url, user) => (await answerTo(url, user)).status
/** The sockets that are open. */
const openedHere = []

async function driveOpen(url, opened) {
  const ofCleo = await statuses(4, () => answerTo(url, 'cleo'))
  check('4 sockets of a user on free, which has 3', ofCleo, { 101: 3, 429: 1 })
  check('4 sockets of a user on pro', await statuses(4, () => answerTo(url, 'bob')), { 101: 4 })
  openedHere[0].close()
  check('a new socket after one was closed', await eventually(() => statusOf(url, 'cleo'), 101), 101)
  for (const socket of openedHere) socket.terminate()
  check('open sockets in the end', await eventually(opened, 0), 0)
}

/** Sends a broken frame. Resolves when the server has closed the socket. */
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

async function drive(url, [, sockets]) {
  const opened = () => sockets.stats().inFlight
  const ada = await connect(url, 'ada')
  const bob = await connect(url, 'bob')
  const start = performance.now()
  const { passed, denial } = await ada.send(100)
  const most = BURST + Math.ceil((performance.now() - start) / 100)
  check(
    '100 messages at once: the burst passes, and what came back meanwhile',
    passed >= BURST && passed <= most,
    true,
  )
  check(
    'the last denial says within how many ms to go on',
    denial.retryAfterMs > 0 && denial.retryAfterMs <= 100,
    true,
  )
  check('messages of bob that pass meanwhile', (await bob.send(10)).passed, 10)
  await new Promise((resolve) => setTimeout(resolve, denial.retryAfterMs))
  check(
    'ada after that wait: messages that pass, and the state of the socket',
    [(await ada.send(1)).passed, ada.socket.readyState],
    [1, WebSocket.OPEN],
  )
  await breakFrame(url)
  check('messages of bob that pass after a broken frame of somebody else', (await bob.send(1)).passed, 1)
  for (const { socket } of [ada, bob]) socket.terminate()
  await eventually(opened, 0)
  await driveOpen(url, opened)
  await driveRefused(url)
}

/** A client that guesses keys never gets a socket. */
async function driveRefused(url) {
  const seen = await statuses(32, (i) => answerTo(url, `made-up-${i}`))
  check('32 tries with unknown keys, of which 30 a minute are answered 401', seen, { 401: 30, 429: 2 })
  const { headers } = await answerTo(url, 'made-up')
  check('the denial has a Retry-After', Number(headers['retry-after']) > 0, true)
}

const hint = (url) => [
  `npx wscat -c '${url.replace('http', 'ws')}' -H 'x-api-key: key-of-ada'   # each line you type is a message`,
  `npx wscat -c '${url.replace('http', 'ws')}' -H 'x-api-key: made-up'      # 401: no socket was ever open`,
]

await play(new URL('src/app.js', import.meta.url).href, { drive, hint })
