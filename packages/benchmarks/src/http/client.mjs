// The client of the HTTP sections, in a process of its own: 64 connections that are kept, each of which sends its next
// request when it has its answer. It reads no more of an answer than it must, so that it is not what is measured.
import { connect } from 'node:net'
import { answerMessages } from '../kit/children.mjs'

const CONNECTIONS = 64
const SUBJECTS = 10_000
const HEAD_END = '\r\n\r\n'

answerMessages(run)

const request = (id) => Buffer.from(`GET / HTTP/1.1\r\nHost: bench\r\nx-api-key: ${id}\r\n\r\n`)
const many = Array.from({ length: SUBJECTS }, (_, i) => request(`key-${i}`))

/**
 * @param {object} load
 * @param {number} load.port
 * @param {number} [load.ms]    how long requests are sent
 * @param {number} [load.count] or how many
 * @param {string} [load.id]    the subject of all requests; without one, 10 000 subjects in turn
 */
async function run({ port, ms = Infinity, count: most = Infinity, id }) {
  const requests = id === undefined ? many : [request(id)]
  const tally = { passed: 0, denied: 0, other: 0, delays: [] }
  const start = performance.now()
  let sent = 0
  const next = () =>
    sent < most && performance.now() < start + ms ? requests[sent++ % requests.length] : undefined
  await Promise.all(Array.from({ length: CONNECTIONS }, () => talk(port, next, tally)))
  const seconds = (performance.now() - start) / 1000
  const delays = tally.delays.sort((a, b) => a - b)
  const at = (share) => delays[Math.floor((delays.length - 1) * share)]
  const { passed, denied, other } = tally
  return { passed, denied, other, seconds, p50: at(0.5), p99: at(0.99) }
}

function talk(port, next, tally) {
  const socket = connect(port, '127.0.0.1').setNoDelay()
  return new Promise((resolve, reject) => {
    let rest = Buffer.alloc(0)
    let began = 0
    const send = () => {
      const bytes = next()
      if (bytes === undefined) return socket.end(resolve)
      began = performance.now()
      socket.write(bytes)
    }
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('The server closed a connection')))
    socket.once('connect', send)
    socket.on('data', (chunk) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      if (!isWhole(rest)) return
      count(rest, tally)
      tally.delays.push(performance.now() - began)
      rest = rest.subarray(0, 0)
      send()
    })
  })
}

function isWhole(bytes) {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) return false
  const head = bytes.latin1Slice(0, end)
  const length = /\r\ncontent-length: (\d+)/i.exec(head)
  if (!length) throw new Error(`An answer without a length: ${head}`)
  return bytes.length >= end + HEAD_END.length + Number(length[1])
}

/** By the status: `HTTP/1.1 200`. */
function count(bytes, tally) {
  const status = bytes.latin1Slice(9, 12)
  if (status === '200') tally.passed += 1
  else if (status === '429') tally.denied += 1
  else tally.other += 1
}
