// Runs the example; with --once it also asks it and checks the answers.
import { check, eventually, play } from '../example-kit/src/index.js'

const post = (url, tenant, body, more) =>
  fetch(`${url}/complete`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': `key-of-${tenant}` },
    body: JSON.stringify(body),
    ...more,
  })

const words = (text) => text.split(' ').filter(Boolean).length

async function drive(url, [limiter]) {
  const left = async (tenant) => (await limiter.peek(tenant)).limits[0].remaining
  await driveOne(url, left)
  await driveSeveral(url, left)
  await driveLeaving(url, left, () => limiter.stats().reservations.held)
}

async function driveOne(url, left) {
  const response = await post(url, 'ada', { prompt: 'tell me of a fox', maxTokens: 100 })
  check('words of the answer to a prompt of 5', words(await response.text()), 15)
  check('left of 1000 while it ran: 105 were reserved', response.headers.get('ratelimit-remaining'), '895')
  check('left afterwards: 20 were used', await eventually(() => left('ada'), 980), 980)
}

async function driveSeveral(url, left) {
  const prompt = 'word '.repeat(100)
  const ask = () => post(url, 'bob', { prompt, maxTokens: 300 })
  // Each could take 400 of the 1000, so there is room for two at a time, whatever they come to.
  const all = await Promise.all([ask(), ask(), ask()])
  check(
    'three requests at once that could use 400 each',
    all.map(({ status }) => status).sort(),
    [200, 200, 429],
  )
  await Promise.all(all.map((response) => response.text()))
  check('left afterwards: both used all they had reserved', await eventually(() => left('bob'), 200), 200)
  const wrong = [{ prompt: 5 }, { maxTokens: 0 }, { maxTokens: 'many' }]
  const refused = await Promise.all(wrong.map((body) => post(url, 'bob', body)))
  check(
    'three bad requests, and what is left after them',
    [...refused.map(({ status }) => status), await left('bob')],
    [400, 400, 400, 200],
  )
}

async function driveLeaving(url, left, held) {
  const leaving = new AbortController()
  const { signal } = leaving
  const { body } = await post(url, 'eve', { prompt: 'word '.repeat(100), maxTokens: 300 }, { signal })
  const reader = body.getReader()
  await reader.read()
  check('left while a third is answered: 400 are reserved', await left('eve'), 600)
  leaving.abort()
  await reader.closed.catch(() => {})
  check('open reservations after that client left', await eventually(held, 0), 0)
  const rest = await left('eve')
  check('what is left shows that it paid for a part of them', rest < 900 && rest > 600, true)
}

const hint = (url) => {
  const curl = (prompt, maxTokens) =>
    `curl -Ni ${url}/complete -H 'content-type: application/json' -H 'x-api-key: key-of-acme' -d '{"prompt":"${prompt}","maxTokens":${maxTokens}}'`
  return [
    `${curl('tell me of a fox', 100)}   # 105 reserved, 20 used`,
    `${curl('tell me all', 500)}   # again and again`,
  ]
}

await play(new URL('src/app.js', import.meta.url).href, { drive, hint })
