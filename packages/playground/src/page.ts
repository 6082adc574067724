// The page: shows a run at a time, moves the time, and reads the settings.
import { ALGORITHMS, type Algorithm } from './limiters.ts'
import { html, LaneView } from './lane-view.ts'
import { followMode } from './mode.ts'
import { seamsOf, tallestOf, WIDTH, xOf } from './picture.ts'
import { arrivedBy, nextAnswer, standingAt, type Run } from './run.ts'
import { FIRST, hashOf, runOf, sceneOf, trafficText, type Scene } from './scene.ts'
import { timeText } from './time.ts'
import { PATTERNS, TrafficError, type Pattern } from './traffic.ts'
import { caption, headline, nameOf, overOf, summary, windowName } from './words.ts'

function byId<Kind extends Element = HTMLElement>(id: string): Kind {
  return document.getElementById(id) as unknown as Kind
}

const [runButton, clock, time] = [byId('run'), byId('clock'), byId<HTMLInputElement>('time')]
const [limit, own] = [byId<HTMLInputElement>('limit'), byId<HTMLTextAreaElement>('own')]
const [algorithm, speed] = [byId<HTMLSelectElement>('algorithm'), byId<HTMLSelectElement>('speed')]

let scene: Scene = FIRST
let run: Run = runOf(scene)
let tallest = 1
let atMs = 0
/** The frame that is asked for while the time runs. */
let frame: number | undefined

/* The picture */

function strong(text: string): HTMLElement {
  const made = document.createElement('strong')
  made.textContent = text
  return made
}

let lanes: readonly LaneView[] = []

function buildLanes(): void {
  byId('lanes').replaceChildren()
  byId('axis').replaceChildren()
  lanes = run.lanes.map((lane) => new LaneView(byId('lanes'), run, lane))
  for (const seam of seamsOf(run)) {
    const tick = html(byId('axis'), 'span', '', timeText(seam))
    tick.style.left = `${(xOf(run, seam) / WIDTH) * 100}%`
  }
  byId('window-name').textContent = windowName(run)
  byId('stage-title').textContent = caption(scene.pattern, run)
  // Numbers stand out, and the name is not broken into lines.
  const parts = headline(run).split(/(express-rate-limit|\d+)/)
  byId('headline').replaceChildren(...parts.map((part, i) => (i % 2 === 1 ? strong(part) : part)))
}

/** Shows the run at this time. Words and tables follow when the time stands still. */
function show(): void {
  for (const lane of lanes) lane.show(atMs, tallest)
  time.value = String(Math.round((atMs / run.lengthMs) * 1000))
  // As exact as the slider.
  const grainMs = 10 ** Math.max(Math.floor(Math.log10(run.lengthMs / 1000)), 0)
  clock.textContent = timeText(Math.round(atMs / grainMs) * grainMs)
  time.setAttribute('aria-valuetext', clock.textContent)
  if (frame === undefined) showWords()
}

function showWords(): void {
  byId('summary').textContent = summary(run, Math.round(atMs))
  const rows = run.lanes.map((lane) => {
    const standing = standingAt(run, lane, atMs)
    const { asked, admitted, denied, worst } = standing
    const row = document.createElement('tr')
    html(row, 'th', '', nameOf(lane)).setAttribute('scope', 'row')
    for (const value of [asked, admitted, denied, worst.admitted, overOf(run, standing)])
      html(row, 'td', '', String(value))
    return row
  })
  byId('numbers').replaceChildren(...rows)
  showNext()
}

function showNext(): void {
  const { status, headers } = nextAnswer(run, atMs)
  const lines = [`HTTP/1.1 ${status === undefined ? '200 OK' : `${status} Too Many Requests`}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  byId('next-time').textContent = timeText(Math.round(atMs))
  byId('next').textContent = lines.join('\n')
}

/* The time */

function moveTo(ms: number): void {
  atMs = Math.min(Math.max(ms, 0), run.lengthMs)
  show()
}

function stop(): void {
  if (frame !== undefined) cancelAnimationFrame(frame)
  frame = undefined
  runButton.textContent = 'Run'
}

/**
 * @param seconds how long the whole scene takes; 0: as long as it would
 * @param untilMs where it stops
 */
function start(seconds: number, untilMs = run.lengthMs): void {
  stop()
  if (atMs >= run.lastMs) atMs = 0
  const perMs = seconds === 0 ? 1 : run.lengthMs / (seconds * 1000)
  let last = performance.now()
  const tick = (now: number): void => {
    const next = Math.min(atMs + Math.max(now - last, 0) * perMs, untilMs)
    last = now
    if (next < untilMs) frame = requestAnimationFrame(tick)
    else stop()
    moveTo(next)
  }
  runButton.textContent = 'Pause'
  frame = requestAnimationFrame(tick)
}

/** To the next time at which requests arrive. */
function step(): void {
  stop()
  moveTo(run.arrivals[arrivedBy(run.arrivals, atMs)] ?? run.lengthMs)
}

/* The settings */

/** Shows a scene when its last request has come. If it is wrong, the last right one stays, with what would be right. */
function change(changed: Partial<Scene>): void {
  scene = { ...scene, ...changed }
  keepInAddress()
  showSettings()
  showMistake()
  try {
    run = runOf(scene)
  } catch (error) {
    showMistake(error as Error)
    return
  }
  stop()
  if (scene.pattern !== 'own') own.value = trafficText(scene, run.watched)
  tallest = tallestOf(run)
  buildLanes()
  moveTo(run.lastMs)
}

/** The link that holds all settings. */
function linkOf(one: Scene): string {
  return location.href.replace(/#.*$/s, '') + hashOf(one)
}

function keepInAddress(): void {
  try {
    history.replaceState(null, '', linkOf(scene))
  } catch {
    // Safari allows 100 changes in ten seconds, and a held key makes more. The next change is kept.
  }
}

function showMistake(error?: Error): void {
  const isOfTraffic = error instanceof TrafficError
  for (const [field, id, isWrong] of [
    [limit, 'limit-error', error && !isOfTraffic],
    [own, 'own-error', isOfTraffic],
  ] as const) {
    byId(id).textContent = isWrong ? (error?.message ?? '') : ''
    field.setAttribute('aria-invalid', String(Boolean(isWrong)))
  }
}

function showSettings(): void {
  // What is being typed stays.
  if (limit.value !== scene.limit) limit.value = scene.limit
  if (scene.pattern === 'own' && own.value !== scene.own) own.value = scene.own
  algorithm.value = scene.algorithm
  byId('algorithm-help').textContent = ALGORITHMS[scene.algorithm]
  byId<HTMLInputElement>(`pattern-${scene.pattern}`).checked = true
  byId('shuffle').hidden = scene.pattern !== 'random' && !/random/.test(scene.own)
}

function buildSettings(): void {
  for (const name of Object.keys(ALGORITHMS)) algorithm.append(new Option(name, name))
  for (const [name, text] of Object.entries(PATTERNS)) {
    const label = html(byId('patterns'), 'label', 'choice')
    const input = document.createElement('input')
    Object.assign(input, { type: 'radio', name: 'pattern', value: name, id: `pattern-${name}` })
    label.append(input, html(label, 'span', '', text))
  }
}

function listen(): void {
  runButton.addEventListener('click', () => {
    if (frame === undefined) return start(Number(speed.value))
    stop()
    show()
  })
  byId('step').addEventListener('click', step)
  byId('rewind').addEventListener('click', () => {
    stop()
    moveTo(0)
  })
  time.addEventListener('input', () => {
    stop()
    moveTo((Number(time.value) / 1000) * run.lengthMs)
  })
  limit.addEventListener('input', () => change({ limit: limit.value }))
  algorithm.addEventListener('change', () => change({ algorithm: algorithm.value as Algorithm }))
  own.addEventListener('input', () => change({ pattern: 'own', own: own.value }))
  byId('patterns').addEventListener('change', ({ target }) => {
    const pattern = (target as HTMLInputElement).value as Pattern
    // One's own begins with what was there.
    change(pattern === 'own' ? { pattern, own: own.value } : { pattern, own: '' })
  })
  byId('shuffle').addEventListener('click', () => change({ seed: scene.seed + 1 }))
  byId('first').addEventListener('click', () => change(FIRST))
  byId('copy').addEventListener('click', () => void copyLink())
  byId('settings').addEventListener('submit', (event) => event.preventDefault())
  addEventListener('hashchange', () => change(sceneOf(location.hash)))
}

async function copyLink(): Promise<void> {
  const copied = byId('copied')
  try {
    await navigator.clipboard.writeText(linkOf(scene))
    copied.textContent = 'The link holds all settings.'
  } catch {
    copied.textContent = 'Copy it from the address bar: it holds all settings.'
  }
}

const linked = sceneOf(location.hash)
followMode(byId('mode'))
// A page that was opened as a file has no site around it.
if (location.protocol === 'file:') document.documentElement.dataset['alone'] = ''
buildSettings()
listen()
// Something stands there even if the link is wrong.
change(FIRST)
change(linked)
// Once as a film, since a picture that moves is understood sooner.
if (!matchMedia('(prefers-reduced-motion: reduce)').matches)
  start((1.2 * run.lengthMs) / run.lastMs, run.lastMs)
