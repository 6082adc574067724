// Runs the example; with --once it also asks it and checks the answers.
import { once } from 'node:events'
import { check, eventually, play } from '../example-kit/src/index.js'

/** Opens a stream, and reads its first event. */
async function open(url, key, count) {
  const leaving = new AbortController()
  const query = count === undefined ? '' : `?count=${count}`
  const response = await fetch(`${url}/ticks${query}`, {
    headers: { 'x-api-key': key },
    signal: leaving.signal,
  })
  const { status, headers } = response
  const reader = response.body.getReader()
  const { value } = await reader.read()
  const rest = async () => {
    let text = ''
    for (let part = await reader.read(); !part.done; part = await reader.read())
      text += Buffer.from(part.value)
    return text
  }
  return { status, headers, first: String(Buffer.from(value)), rest, leave: () => leaving.abort() }
}

async function driveOne(name, url, inFlight) {
  const [one, two] = [await open(url, 'key-of-acme'), await open(url, 'key-of-acme')]
  check(
    `${name}: the first events of two streams of acme`,
    [one.first, two.first],
    ['data: 1\n\n', 'data: 1\n\n'],
  )
  const third = await open(url, 'key-of-acme')
  check(
    'a third stream of acme: status and Retry-After',
    [third.status, third.headers.get('retry-after')],
    [429, '1'],
  )
  const other = await open(url, 'key-of-globex')
  check('a stream of globex meanwhile', other.status, 200)

  one.leave()
  const next = async () => {
    const stream = await open(url, 'key-of-acme', 2)
    if (stream.status === 200) check('the rest of a stream that ends', await stream.rest(), 'data: 2\n\n')
    return stream.status
  }
  check('a new stream after a client of acme left', await eventually(next, 200), 200)
  check('one more after that stream ended', await eventually(next, 200), 200)
  two.leave()
  other.leave()
  check('streams in flight in the end', await eventually(inFlight, 0), 0)
}

async function drive(url, [limiter]) {
  const inFlight = () => limiter.stats().inFlight
  await driveOne('express', url, inFlight)
  for (const name of ['fastify', 'koa']) {
    const { serve } = await import(`./src/${name}.js`)
    const server = await serve(0)
    if (!server.listening) await once(server, 'listening')
    await driveOne(name, `http://127.0.0.1:${server.address().port}`, inFlight)
    server.close()
    server.closeAllConnections()
  }
}

const hint = (url) => [
  `curl -N -H 'x-api-key: key-of-acme' ${url}/ticks   # in three terminals: the third one is denied`,
]

await play(new URL('src/app.js', import.meta.url).href, { drive, hint })
