// leases.svg: two processes take units from Redis in advance, serve requests from memory, and return the rest.
import { box, card, dots, shaft, text, WIDTH } from '../draw.mjs'

/** A process asks for what it expects to use and this much more: pictures.test.ts holds it to core's source. */
export const RESERVE = 1.25
const SERVED = 200
const UNITS = SERVED * RESERVE
const PER_DOT = 10
const PROCESSES = [
  { name: 'process A', kind: 'c-blue', middle: 168 },
  { name: 'process B', kind: 'c-green', middle: 472 },
]
const [LEFT, RIGHT] = [24, WIDTH - 24]
const REDIS = { top: 88, height: 116, bar: 148, thick: 36 }

/** Not to scale: two leases would be too thin to see. */
const SHARES = [
  { what: 'used', width: 170, kind: 'paint c-grey' },
  { what: `${UNITS}`, width: 90, kind: 'tint c-blue' },
  { what: `${UNITS}`, width: 90, kind: 'tint c-green' },
  { what: 'free', width: 206, kind: 'card' },
]

function redis() {
  let x = LEFT + 18
  const parts = SHARES.flatMap(({ what, width, kind }) => {
    const share = [
      box([x, REDIS.bar], [width, REDIS.thick], kind, 4),
      text([x + width / 2, REDIS.bar + 25], what, 'small', 'middle'),
    ]
    x += width
    return share
  })
  return [
    box([LEFT, REDIS.top], [RIGHT - LEFT, REDIS.height]),
    text([LEFT + 18, REDIS.top + 34], 'Redis', 'strong'),
    text([RIGHT - 18, REDIS.top + 34], 'on lease: out of reach for others', 'small soft', 'end'),
    ...parts,
  ]
}

function processCard({ name, kind, middle }) {
  const [top, width, height] = [292, 288, 140]
  const x = middle - width / 2
  const all = Array.from({ length: UNITS / PER_DOT }, (_, i) => [x + 24 + i * 10, top + 62])
  const served = SERVED / PER_DOT
  return [
    shaft(middle - 100, REDIS.top + REDIS.height + 4, top - 6, kind),
    text([middle - 86, 254], `takes ${UNITS}`, 'small'),
    shaft(middle + 34, top - 6, REDIS.top + REDIS.height + 4, kind),
    text([middle + 48, 254], `${UNITS - SERVED} back`, 'small'),
    box([x, top], [width, height], `tint ${kind}`),
    text([x + 18, top + 34], name, 'strong'),
    dots(all.slice(0, served), `pen ${kind}`),
    dots(all.slice(served), 'pen c-grey'),
    text([x + 18, top + 96], `${SERVED} served from memory`, 'small'),
    text([x + 18, top + 122], `${UNITS - SERVED} not used`, 'small soft'),
  ]
}

export function leasesPicture() {
  return card({
    height: 452,
    title: 'Leases: units taken in advance',
    description: `Redis counts units as used, on lease or free. Process A and process B each take ${UNITS} units on lease, which nobody else can take. Each serves ${SERVED} requests from memory and gives ${UNITS - SERVED} units back. Used and on lease are together never more than the quota.`,
    parts: [
      text([LEFT, 70], 'used + on lease is never more than the quota', 'small soft'),
      ...redis(),
      ...PROCESSES.flatMap(processCard),
    ],
  })
}
