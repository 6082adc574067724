// Tries the example. The order matters: the kit says which port and counters are the example's.
import { check, eventually, play } from '@tollgate/example-kit'
import * as app from './app.js'

const post = (url, tenant, body, more) =>
  fetch(`${url}/complete`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': `key-of-${tenant}` },
    body: JSON.stringify(body),
    ...more,
  })

const left = async (tenant) => (await app.limiter.peek(tenant)).limits[0].remaining
const words = (text) => text.split(' ').filter(Boolean).length

async function drive(url) {
  await driveOne(url)
  await driveSeveral(url)
  await driveLeaving(url)
}

async function driveOne(url) {
  const response = await post(url, 'ada', { prompt: 'tell me of a fox', maxTokens: 100 })
  check('5 tokens are asked, and 15 answered', words(await response.text()), 15)
  check('105 were reserved before that', response.headers.get('ratelimit-remaining'), '895')
  check('20 of them were used', await eventually(() => left('ada'), 980), 980)
}

async function driveSeveral(url) {
  const prompt = 'word '.repeat(100)
  const ask = () => post(url, 'bob', { prompt, maxTokens: 300 })
  // Each could take 400 of the 1000, so there is room for two at a time, whatever they come to.
  const all = await Promise.all([ask(), ask(), ask()])
  check('of three at once two begin', all.map(({ status }) => status).sort(), [200, 200, 429])
  await Promise.all(all.map((response) => response.text()))
  check('and take what they reserved', await eventually(() => left('bob'), 200), 200)
  const wrong = [{ prompt: 5 }, { maxTokens: 0 }, { maxTokens: 'many' }]
  const refused = await Promise.all(wrong.map((body) => post(url, 'bob', body)))
  check(
    'what is no question is not asked',
    [...refused.map(({ status }) => status), await left('bob')],
    [400, 400, 400, 200],
  )
}

async function driveLeaving(url) {
  const leaving = new AbortController()
  const { signal } = leaving
  const { body } = await post(url, 'eve', { prompt: 'word '.repeat(100), maxTokens: 300 }, { signal })
  const reader = body.getReader()
  await reader.read()
  check('while it is answered, 400 are held', await left('eve'), 600)
  leaving.abort()
  await reader.closed.catch(() => {})
  const held = () => app.limiter.stats().reservations.held
  check('who leaves ends the model', await eventually(held, 0), 0)
  const rest = await left('eve')
  check('and pays for what it did', rest < 900 && rest > 600, true)
}

const hint = (url) => {
  const curl = (prompt, maxTokens) =>
    `curl -Ni ${url}/complete -H 'content-type: application/json' -H 'x-api-key: key-of-acme' -d '{"prompt":"${prompt}","maxTokens":${maxTokens}}'`
  return [
    `${curl('tell me of a fox', 100)}   # 105 reserved, 20 used`,
    `${curl('tell me all', 500)}   # again and again`,
  ]
}

await play(app, { drive, hint })
