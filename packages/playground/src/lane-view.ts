// One lane of the picture: who it is, the busiest window so far, and the bars.
import { bandOf, barsOf, HEIGHT, seamsOf, WIDTH, xOf } from './picture.ts'
import { standingAt, type Lane, type Run } from './run.ts'
import { hintOf, nameOf, oneWindow, overOf, verdictOf, windowName } from './words.ts'

export function html(parent: Element, name: string, className = '', text = ''): HTMLElement {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  made.textContent = text
  return parent.appendChild(made)
}

function svg(parent: Element, name: string, attributes: Attributes): SVGElement {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name)
  set(made, attributes)
  return parent.appendChild(made)
}

type Attributes = Readonly<Record<string, string | number>>

function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value))
}

/** Of a narrower band the label would not fit. */
const LEAST_LABELLED = WIDTH / 4
const TOP_TO_BOTTOM = { y1: 0, y2: HEIGHT }

export class LaneView {
  readonly #run: Run
  readonly #lane: Lane
  readonly #box: HTMLElement
  readonly #worst: HTMLElement
  readonly #verdict: HTMLElement
  readonly #picture: SVGElement
  readonly #band: readonly SVGElement[]
  readonly #now: SVGElement
  readonly #denied: SVGElement
  readonly #admitted: SVGElement
  readonly #label: HTMLElement

  constructor(parent: Element, run: Run, lane: Lane) {
    this.#run = run
    this.#lane = lane
    this.#box = html(parent, 'div', `lane ${lane.name}`)
    const head = html(this.#box, 'div', 'lane-head')
    html(head, 'h3', '', nameOf(lane))
    html(head, 'p', 'hint', hintOf(run, lane))
    const score = html(this.#box, 'p', 'score')
    this.#worst = html(score, 'strong', 'worst')
    this.#verdict = html(score, 'span', 'verdict')
    const box = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' }
    this.#picture = svg(this.#box, 'svg', box)
    this.#band = [
      svg(this.#picture, 'rect', { class: 'band', y: 0, height: HEIGHT }),
      svg(this.#picture, 'rect', { class: 'edge', y: 0, height: 3 }),
    ]
    for (const seam of seamsOf(run)) {
      const x = xOf(run, seam)
      svg(this.#picture, 'line', { class: 'seam', x1: x, x2: x, ...TOP_TO_BOTTOM })
    }
    this.#now = svg(this.#picture, 'line', { class: 'now', ...TOP_TO_BOTTOM })
    this.#denied = svg(this.#picture, 'path', { class: 'denied' })
    this.#admitted = svg(this.#picture, 'path', { class: 'admitted' })
    this.#label = html(this.#box, 'span', 'band-label')
    this.#label.setAttribute('aria-hidden', 'true')
  }

  show(atMs: number, tallest: number): void {
    const [run, lane] = [this.#run, this.#lane]
    const standing = standingAt(run, lane, atMs)
    this.#box.classList.toggle('over', overOf(run, standing) > 0)
    this.#worst.textContent = String(standing.worst.admitted)
    this.#verdict.textContent = verdictOf(run, standing)
    const { admitted, denied } = barsOf(run, lane, atMs, tallest)
    this.#admitted.setAttribute('d', admitted)
    this.#denied.setAttribute('d', denied)
    const { x, width } = bandOf(run, standing.worst)
    for (const part of this.#band) set(part, { x, width })
    this.#label.textContent = width > LEAST_LABELLED ? `busiest ${windowName(run)}` : ''
    this.#label.style.left = `${(x / WIDTH) * 100}%`
    set(this.#now, { x1: xOf(run, atMs), x2: xOf(run, atMs) })
    const counts = `${standing.admitted} let in, ${standing.denied} denied`
    const most = `at most ${standing.worst.admitted} in ${oneWindow(run)}`
    this.#picture.setAttribute('aria-label', `${nameOf(lane)}: ${counts}, ${most}`)
  }
}
