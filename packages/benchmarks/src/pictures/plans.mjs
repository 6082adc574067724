// plans.svg: keys lead to tenants, tenants to plans, plans to answers.
import { box, card, road, text } from '../draw.mjs'
import { PLANS } from './plans-run.mjs'

const BOX = { width: 116, height: 56 }
const COLUMNS = [24, 180, 350, 504]
const COLOURS = ['c-orange', 'c-green', 'c-blue']
const TOP = 104
const STEP = 80

const distinct = (all) => [...new Set(all)]

function node(column, y, [name, detail], kind) {
  const x = COLUMNS[column]
  return [
    box([x, y - BOX.height / 2], [BOX.width, BOX.height], kind),
    text([x + BOX.width / 2, y + (detail ? -5 : 6)], name, 'strong', 'middle'),
    detail ? text([x + BOX.width / 2, y + 18], detail, 'small soft', 'middle') : '',
  ]
}

const between = (column, y1, y2, kind) =>
  road([COLUMNS[column] + BOX.width, y1], [COLUMNS[column + 1] - 2, y2], kind)

/** @param answers what `runPlans` resolves to */
export function plansPicture(answers) {
  const rowOf = (i) => TOP + 28 + i * STEP
  const middleOf = (rows) => rows.reduce((sum, row) => sum + row, 0) / rows.length
  const rowsWhere = (test) => answers.flatMap((one, i) => (test(one) ? [rowOf(i)] : []))
  const whoAt = (who) => middleOf(rowsWhere((one) => one.who === who))
  const plans = distinct(answers.map(({ plan }) => plan))
  const planAt = (plan) => middleOf(rowsWhere((one) => one.plan === plan))
  // Roads of several clients stand a little apart where they meet.
  const portAt = (i) => planAt(answers[i].plan) + (rowOf(i) - planAt(answers[i].plan)) / 6
  const entryAt = (who, plan) => planAt(plan) + (whoAt(who) - planAt(plan)) / 6
  const everybody = distinct(answers.map(({ who }) => who))
  const colourOf = (who) => COLOURS[everybody.indexOf(who)]
  const heads = ['key', 'who pays', 'plan', 'answer'].map((name, i) =>
    text([COLUMNS[i] + BOX.width / 2, 76], name, 'soft', 'middle'),
  )
  const roads = answers.flatMap(({ who, plan }, i) => [
    between(0, rowOf(i), whoAt(who), colourOf(who)),
    between(1, whoAt(who), entryAt(who, plan), colourOf(who)),
    between(2, portAt(i), rowOf(i), colourOf(who)),
  ])
  return card({
    height: TOP + answers.length * STEP,
    title: 'Keys, tenants, plans, answers',
    description: `A key leads to the tenant that pays for it, a tenant to its plan. ${answers.map(({ key, who, plan, answer, detail }) => `${key}: ${who}, plan ${plan}, answer ${answer}, ${detail}`).join('; ')}. Two keys of one tenant share its units. Without a key the address counts, on the default plan.`,
    parts: [
      ...heads,
      ...distinct(roads),
      ...answers.flatMap(({ key, who, answer, detail }, i) => [
        ...node(0, rowOf(i), [key], `tint ${colourOf(who)}`),
        ...node(3, rowOf(i), [answer, detail], `tint ${answer === '429' ? 'c-orange' : colourOf(who)}`),
      ]),
      ...everybody.flatMap((who) => node(1, whoAt(who), [who], `tint ${colourOf(who)}`)),
      ...plans.flatMap((plan) => node(2, planAt(plan), [plan, PLANS[plan]], 'box')),
    ],
  })
}
