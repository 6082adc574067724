// house.svg: the floors of core, as ARCHITECTURE.md names them, so that the picture cannot tell of another house.
import { box, card, head, text, WIDTH } from '../draw.mjs'

const [LEFT, TOP, FLOOR, GAP] = [24, 88, 58, 8]

/**
 * @param {string} page ARCHITECTURE.md
 * @returns {{ names: string[], texts: string[] }[]} floors from the top to the bottom, each with its rooms
 * @throws when the diagram leaves out a folder that the table has, or the other way round
 */
export function floorsOf(page) {
  const [, diagram = ''] = /```mermaid\nflowchart TD\n([\s\S]*?)```/.exec(page) ?? []
  const chains = diagram
    .trim()
    .split('\n')
    .map((chain) => chain.trim().split(' --> '))
  const floors = chains
    .flatMap((chain, i) => (i === 0 ? chain : chain.slice(1)))
    .map((floor) => floor.split(' & ').map((room) => /^(\w+)(?:\["(.*)"\])?$/.exec(room).slice(1)))
  const [, table = ''] = page.split('## Who may import whom')
  const folders = [...table.matchAll(/^\| `(\w+)\/` \|/gm)].map(([, name]) => name)
  const drawn = floors.flat().flatMap(([name, label]) => (label === undefined ? [name] : []))
  if (folders.toSorted().join() !== drawn.toSorted().join())
    throw new Error(`ARCHITECTURE.md: the table has ${folders.join(', ')}, the diagram ${drawn.join(', ')}`)
  return floors.map((rooms) => ({
    names: rooms.map(([name, label]) => label ?? name),
    texts: rooms.map(([name, label]) => whatIs(page, label?.replaceAll(', ', ' ') ?? `${name}/`)),
  }))
}

/** What the tree of folders says about a room, up to a semicolon. */
function whatIs(page, room) {
  const [, what] = new RegExp(`^ {2}${room.replaceAll('.', '\\.')} +(.+)$`, 'm').exec(page) ?? []
  if (what === undefined) throw new Error(`ARCHITECTURE.md: the house has no ${room}`)
  return what.split(';')[0].replaceAll('/ ', ', ').replace(/\/$/, '')
}

/** Rooms share a floor by the length of what they say. */
function floor({ names, texts }, top, kind) {
  const lengths = texts.map((what, i) => Math.max(what.length, names[i].length))
  const all = lengths.reduce((sum, length) => sum + length, 0)
  const free = WIDTH - 2 * LEFT - GAP * (names.length - 1)
  let x = LEFT
  return names.flatMap((name, i) => {
    const width = (free * lengths[i]) / all
    const room = [
      box([x, top], [width, FLOOR], `tint ${kind}`),
      text([x + 14, top + 24], name, 'strong'),
      text([x + 14, top + 46], texts[i], 'small soft'),
    ]
    x += width + GAP
    return room
  })
}

/** @param {string} page ARCHITECTURE.md */
export function housePicture(page) {
  const floors = floorsOf(page)
  const inWords = floors.map(({ names }) => names.join(' and ')).join('; ')
  const colours = (i) => ['c-orange', 'c-green'][i] ?? (i === floors.length - 1 ? 'c-grey' : 'c-blue')
  return card({
    height: TOP + floors.length * (FLOOR + GAP) + 16,
    title: 'The floors of core',
    description: `Each floor imports from those below it. From the top: ${inWords}.`,
    parts: [
      text([LEFT, 70], 'a floor imports only from those below', 'small soft'),
      text([WIDTH - LEFT - 24, 70], 'imports', 'small soft', 'end'),
      head(WIDTH - LEFT - 8, 72, 'c-grey', 90),
      ...floors.flatMap((one, i) => floor(one, TOP + i * (FLOOR + GAP), colours(i))),
    ],
  })
}
