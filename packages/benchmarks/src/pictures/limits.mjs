// limits.svg: a request that fits all limits of its plan takes units of all; one that does not fit one of them takes none.
import { box, card, line, text, WIDTH } from '../draw.mjs'
import { COST, LIMITS } from './limits-run.mjs'

const [LEFT, LABELS, VALUES] = [24, 96, 164]
const PLOT = WIDTH - 2 * LEFT - LABELS - VALUES
const [STEP, BAR] = [42, 22]

function gauge({ name, quota, before, after, fits }, allowed, y) {
  const x = LEFT + LABELS
  const wide = (units) => Math.max((units / quota) * PLOT, units > 0 ? 4 : 0)
  const wanted = wide(COST)
  return [
    text([LEFT, y + 17], name),
    box([x, y], [PLOT, BAR], 'box', 4),
    before > 0 ? box([x, y], [wide(before), BAR], 'paint c-grey', 4) : '',
    allowed
      ? box([x + wide(before), y], [wanted, BAR], 'paint c-green', 4)
      : box(
          [x + wide(before) + 1, y - 3],
          [wanted, BAR + 6],
          `ghost pen ${fits ? 'c-green' : 'c-orange'}`,
          4,
        ),
    text(
      [WIDTH - LEFT, y + 17],
      `${after} of ${quota}`,
      fits ? 'small soft' : 'small strong paint c-orange',
      'end',
    ),
  ]
}

function panel({ allowed, limits }, top) {
  const [verdict, kind] = allowed
    ? [`It fits all: ${COST} are taken from each`, 'c-green']
    : ['One is full: nothing is taken', 'c-orange']
  return [
    text([LEFT, top], verdict, `strong paint ${kind}`),
    text([WIDTH - LEFT, top], allowed ? '200' : '429', `strong paint ${kind}`, 'end'),
    ...limits.flatMap((limit, i) => gauge(limit, allowed, top + 18 + i * STEP)),
  ]
}

/** @param answers what `runLimits` resolves to */
export function limitsPicture(answers) {
  const inWords = answers.map(({ allowed, limits }) => {
    const numbers = limits.map(
      ({ name, quota, before, after }) => `${name} ${before} before and ${after} after of ${quota}`,
    )
    return `${allowed ? 'Allowed' : 'Denied'}: ${numbers.join(', ')}`
  })
  return card({
    height: 432,
    title: 'All limits, or nothing',
    description: `A request of cost ${COST} on a plan with the limits ${LIMITS.join(', ')}. ${inWords.join('. ')}.`,
    parts: [
      text([LEFT, 68], `cost ${COST}, plan ${LIMITS.join(' + ')}`, 'soft'),
      ...panel(answers[0], 112),
      line([LEFT, 252], [WIDTH - LEFT, 252]),
      ...panel(answers[1], 290),
    ],
  })
}
