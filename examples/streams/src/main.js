// Tries the example. The order matters: the kit says which port and counters are the example's.
import { check, eventually, play, urlOf } from '@tollgate/example-kit'
import * as app from './app.js'

const inFlight = () => app.limiter.stats().inFlight

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

async function driveOne(name, url) {
  const [one, two] = [await open(url, 'key-of-acme'), await open(url, 'key-of-acme')]
  check(`${name}: two streams of acme are open`, [one.first, two.first], ['data: 1\n\n', 'data: 1\n\n'])
  const third = await open(url, 'key-of-acme')
  check('the third is told to come back', [third.status, third.headers.get('retry-after')], [429, '1'])
  const other = await open(url, 'key-of-globex')
  check('globex does not notice', other.status, 200)

  one.leave()
  const next = async () => {
    const stream = await open(url, 'key-of-acme', 2)
    if (stream.status === 200) check('one that ends says all', await stream.rest(), 'data: 2\n\n')
    return stream.status
  }
  check('when a client leaves, another stream may open', await eventually(next, 200), 200)
  check('and when that has ended, one more', await eventually(next, 200), 200)
  two.leave()
  other.leave()
  check('in the end nothing is in flight', await eventually(inFlight, 0), 0)
}

async function drive(url) {
  await driveOne('express', url)
  for (const name of ['fastify', 'koa']) {
    const { serve } = await import(`./${name}.js`)
    const server = await serve(0)
    await driveOne(name, await urlOf(server))
    server.close()
    server.closeAllConnections()
  }
}

const hint = (url) => [
  `curl -N -H 'x-api-key: key-of-acme' ${url}/ticks   # in three terminals: the third is refused`,
]

await play(app, { drive, hint })
