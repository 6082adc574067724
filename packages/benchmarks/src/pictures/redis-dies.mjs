// redis-dies.svg: what a request meets from the moment at which Redis stops answering until it decides again.
import { box, card, line, text, WIDTH } from '../draw.mjs'

/** The defaults of core: packages/testing/test/pictures.test.ts holds them to its source. */
export const DEFAULTS = { deadlineMs: 100, failures: 3, probeEveryMs: 250 }

const { deadlineMs, failures, probeEveryMs } = DEFAULTS
const MOMENTS = [
  { what: 'Redis answers', then: 'one script decides for all processes', by: 'Redis' },
  { what: 'Redis hangs or dies', then: `a decision waits ${deadlineMs} ms at most`, by: 'this process' },
  {
    what: `After ${failures} failures the breaker opens`,
    then: `nothing waits; a probe every ${probeEveryMs} ms`,
    by: 'this process',
  },
  { what: 'Redis is back', then: 'it is charged for what passed', by: 'this process' },
  { what: 'The breaker closes', then: 'exact again, over all processes', by: 'Redis' },
]

const [STEM, LEFT, TOP, STEP] = [44, 76, 116, 72]
const PILL = { width: 140, height: 36 }
const colourOf = ({ by }) => (by === 'Redis' ? 'c-blue' : 'c-orange')

function moment(one, i) {
  const y = TOP + i * STEP
  const x = WIDTH - 24 - PILL.width
  return [
    i + 1 < MOMENTS.length ? line([STEM, y], [STEM, y + STEP], `road ${colourOf(one)}`) : '',
    `<circle cx="${STEM}" cy="${y}" r="9" class="tint ${colourOf(one)}" style="stroke-width:3"/>`,
    text([LEFT, y], one.what, 'strong'),
    text([LEFT, y + 24], one.then, 'small soft'),
    box([x, y - 12], [PILL.width, PILL.height], `tint ${colourOf(one)}`, 18),
    text([x + PILL.width / 2, y + 12], one.by, 'small', 'middle'),
  ]
}

export function redisDiesPicture() {
  return card({
    height: TOP + MOMENTS.length * STEP - 18,
    title: 'When Redis dies',
    description: MOMENTS.map(({ what, then, by }) => `${what}: ${then}. Decided by ${by}.`).join(' '),
    parts: [
      text([LEFT, 76], 'what happens', 'small soft'),
      text([WIDTH - 24 - PILL.width / 2, 76], 'who decides', 'small soft', 'middle'),
      ...MOMENTS.flatMap(moment),
    ],
  })
}
