// The parts of all pictures and charts: a card on which text, boxes and arrows stand. It suits light and dark pages, and
// text grows where the card is shown small, such as on a phone.

export const WIDTH = 640

const STYLE = `
  svg {
    --card: #ffffff; --edge: #d0d7de; --ink: #1f2328; --soft: #59636e; --fill: #f6f8fa; --grey: #afb8c1;
    --blue: #0969da; --blue-fill: #ddf4ff; --orange: #bc4c00; --orange-fill: #fff1e5; --green: #1a7f37; --green-fill: #dafbe1;
  }
  @media (prefers-color-scheme: dark) {
    svg {
      --card: #0d1117; --edge: #3d444d; --ink: #f0f6fc; --soft: #a3abb5; --fill: #161c24; --grey: #59626c;
      --blue: #58a6ff; --blue-fill: #11233c; --orange: #f0883e; --orange-fill: #2f1d0e; --green: #3fb950; --green-fill: #11261a;
    }
  }
  text { font: 17px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif; fill: var(--ink) }
  .title { font-size: 21px; font-weight: 600 } .strong { font-weight: 600 } .small { font-size: 15px } .soft { fill: var(--soft) }
  .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: 15px }
  .card { fill: var(--card); stroke: var(--edge) }
  .box { fill: var(--fill); stroke: var(--edge) }
  .line { fill: none; stroke: var(--edge); stroke-width: 2 }
  .mark { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 5 4 }
  .dots { fill: none; stroke-linecap: round; stroke-width: 8 }
  .ghost { fill: none; stroke-width: 1.5; stroke-dasharray: 4 3 }
  .c-grey { --c: var(--grey); --f: var(--fill) } .c-blue { --c: var(--blue); --f: var(--blue-fill) }
  .c-orange { --c: var(--orange); --f: var(--orange-fill) } .c-green { --c: var(--green); --f: var(--green-fill) }
  .paint { fill: var(--c) } .tint { fill: var(--f); stroke: var(--c); stroke-width: 1.5 } .pen { stroke: var(--c) }
  .road { fill: none; stroke: var(--c); stroke-width: 2.5 }
  @media (max-width: 480px) {
    text { font-size: 20px } .title { font-size: 25px } .small, .code { font-size: 19px } .dots { stroke-width: 8.5 }
  }`

export const escape = (text) =>
  String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
export const round = (value) => Number(value.toFixed(1))

/** @param kind classes of the text; `c-blue paint` colours it */
export const text = ([x, y], content, kind = '', anchor = 'start') =>
  `<text x="${round(x)}" y="${round(y)}" class="${kind}" text-anchor="${anchor}">${escape(content)}</text>`

export const box = ([x, y], [width, height], kind = 'box', radius = 8) =>
  `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}" class="${kind}"/>`

export const line = ([x1, y1], [x2, y2], kind = 'line') =>
  `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" class="${kind}"/>`

/** Round dots, all in one path. */
export const dots = (points, kind) =>
  points.length === 0
    ? ''
    : `<path class="dots ${kind}" d="${points.map(([x, y]) => `M${round(x)} ${round(y)}h0`).join('')}"/>`

/** The head of an arrow whose tip is here. `turn` is in degrees; 0 points to the right. */
export const head = (x, y, kind, turn = 0) =>
  `<path class="paint ${kind}" transform="translate(${round(x)} ${round(y)}) rotate(${turn})" d="M0 0L-11 -6V6Z"/>`

/** An arrow from left to right, bent smoothly where it begins and ends at different heights. */
export function road([x1, y1], [x2, y2], kind) {
  const middle = round((x1 + x2) / 2)
  const end = x2 - 9
  return `<path class="road ${kind}" d="M${round(x1)} ${round(y1)}C${middle} ${round(y1)} ${middle} ${round(y2)} ${round(end)} ${round(y2)}"/>${head(x2, y2, kind)}`
}

/** A straight arrow up or down. */
export const shaft = (x, y1, y2, kind) =>
  `<line x1="${x}" y1="${y1}" x2="${x}" y2="${y2 > y1 ? y2 - 9 : y2 + 9}" class="road ${kind}"/>${head(x, y2, kind, y2 > y1 ? 90 : -90)}`

/**
 * @param {object} picture
 * @param {number} picture.height
 * @param {string} picture.title  stands at the top, and is the picture's name for those who cannot see it
 * @param {string} picture.description all that the picture shows, in words
 * @param {string[]} picture.parts
 * @param {string} [picture.style] CSS for classes of its own, without colours
 * @returns {string} SVG
 */
export function card({ height, title, description, parts, style = '' }) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escape(title)}</title>`,
    `<desc id="desc">${escape(description)}</desc>`,
    `<style>${STYLE}${style}\n</style>`,
    box([0.5, 0.5], [WIDTH - 1, height - 1], 'card', 12),
    text([24, 40], title, 'title'),
    ...parts.filter(Boolean),
    '</svg>\n',
  ].join('\n')
}
