// seam.svg: the same requests around the end of a minute, at express-rate-limit and at Tollgate.
import { card, dots, line, text, WIDTH } from '../draw.mjs'
import { BURST, BURST_MS, MINUTE_MS, QUOTA } from './seam-run.mjs'

const LEFT = 24
const COLUMNS = 30
const [FROM, TO] = [MINUTE_MS - BURST_MS, MINUTE_MS + BURST_MS]
const STEP = (WIDTH - 2 * LEFT) / COLUMNS
const ROW = 11

/** Each request with how it went: refused, let through, or let through though the minute before it was full. */
function judged(answers) {
  return answers.map(({ at, passed }) => {
    const inMinute = answers.filter((other) => other.passed && other.at > at - MINUTE_MS && other.at <= at)
    if (!passed) return { at, kind: 'c-grey' }
    return { at, kind: inMinute.length > QUOTA ? 'c-orange' : 'c-blue' }
  })
}

/** How many of the requests of both bursts were let through. */
const passedIn = (answers) => answers.filter(({ at, passed }) => passed && at >= FROM).length

function panel(top, { name, kind, answers }) {
  const bottom = top + 134
  const columns = Array.from({ length: COLUMNS }, () => [])
  for (const { at, kind: dot } of judged(answers).filter((one) => one.at >= FROM))
    columns[Math.floor(((at - FROM) / (TO - FROM)) * COLUMNS)].push(dot)
  const points = columns.flatMap((column, i) =>
    column.map((dot, k) => ({ dot, at: [LEFT + (i + 0.5) * STEP, bottom - 7 - k * ROW] })),
  )
  const ofKind = (wanted) => points.filter(({ dot }) => dot === wanted).map(({ at }) => at)
  return [
    text([LEFT, top + 6], name, 'strong'),
    text(
      [WIDTH - LEFT, top + 6],
      `${passedIn(answers)} of ${2 * BURST} pass in 4 s`,
      `strong paint ${kind}`,
      'end',
    ),
    ...['c-grey', 'c-blue', 'c-orange'].map((one) => dots(ofKind(one), `pen ${one}`)),
    line([LEFT, bottom], [WIDTH - LEFT, bottom]),
  ]
}

const legend = (x, y, label, kind) => [
  dots([[x + 5, y - 6]], `pen ${kind}`),
  text([x + 16, y], label, 'small soft'),
]

/** @param run what `runSeam` resolves to */
export function seamPicture({ theirs, ours }) {
  const [most, right] = [passedIn(theirs), passedIn(ours)]
  const middle = WIDTH / 2
  return card({
    height: 488,
    title: `${QUOTA} a minute, between two minutes`,
    description: `The limit is ${QUOTA} a minute. A client begins its window with a request at 12:00:00. Then it sends ${BURST} requests in the last two seconds of that minute and ${BURST} in the first two of the next. express-rate-limit lets ${most} of them through within four seconds, since its window ends in between. Tollgate lets ${right} through, since no minute may hold more than ${QUOTA}.`,
    parts: [
      text([LEFT, 68], `${BURST} requests as a minute ends, ${BURST} as the next begins`, 'soft'),
      line([middle, 92], [middle, 424], 'mark'),
      ...panel(116, { name: 'express-rate-limit', kind: 'c-orange', answers: theirs }),
      ...panel(284, { name: 'Tollgate', kind: 'c-blue', answers: ours }),
      text([LEFT, 442], '12:00:58', 'small soft'),
      text([middle, 442], '12:01:00', 'small soft', 'middle'),
      text([WIDTH - LEFT, 442], '12:01:02', 'small soft', 'end'),
      ...legend(LEFT, 472, 'let through', 'c-blue'),
      ...legend(190, 472, 'over the limit', 'c-orange'),
      ...legend(390, 472, 'refused (429)', 'c-grey'),
    ],
  })
}
