import { createHash } from 'node:crypto'
import { UNIT_MS } from '../../base/duration.js'
import { dateInWords, inWords, LONGEST_WAIT_IN_WORDS_MS, perWindow, waitInWords } from '../answers/detail.js'
import type { UsageOfLimit, UsageReport } from './report.js'

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--line:#dfe4ea;--page:#f6f7f9;--card:#fff;--bar:#2f6fed;--near:#b45309;--full:#b42318}
@media(prefers-color-scheme:dark){:root{--ink:#e8ecf1;--soft:#9aa6b5;--line:#2b333d;--page:#12161b;--card:#1a2027;--bar:#6c9cff;--near:#f0a94a;--full:#ff8177}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:44rem;margin:0 auto;padding:2.5rem 1.25rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem}
header p,footer{color:var(--soft);margin:0}
ul{list-style:none;margin:1.75rem 0;padding:0;display:grid;gap:.75rem}
li,.note{background:var(--card);border:1px solid var(--line);border-radius:.625rem;padding:1rem 1.125rem}
.note{margin:1.25rem 0 0}
.note.full{border-color:var(--full)}
h2{font-size:1rem;margin:0;display:flex;flex-wrap:wrap;gap:.125rem 1rem;justify-content:space-between;overflow-wrap:anywhere}
h2 span,li p{color:var(--soft);font-weight:400}
li p{margin:0;display:flex;flex-wrap:wrap;gap:.125rem 1rem;justify-content:space-between;font-size:.875rem;font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:.5rem;margin:.625rem 0 .5rem;border-radius:.25rem;background:var(--line)}
rect{fill:var(--bar)}.near rect{fill:var(--near)}.full rect{fill:var(--full)}
footer{font-size:.875rem}
`

/** Only its own style may load: nothing else, from anywhere. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** From this share of its quota on, a limit is shown as nearly used up. */
const NEAR = 0.8

/** When the report was made, in ms since 1970, and the time zone of each of its limits by the calendar. */
export interface PageTimes {
  readonly atMs: number
  readonly timeZones: readonly (string | undefined)[]
}

/** The report as a small page for browsers. It loads nothing, and has no script. */
export function pageOf(
  { plan, limits, override, blocked }: UsageReport,
  { atMs, timeZones }: PageTimes,
): string {
  const zone = timeZones.find((one) => one !== undefined) ?? 'UTC'
  const about = plan === undefined ? '' : `<p>Plan: ${escaped(plan)}</p>`
  const notes = [
    blocked && note('full', `All requests are denied at the moment${untilOf(blocked, zone)}.`),
    override && note('', `Other limits than those of the plan apply to you${untilOf(override, zone)}.`),
  ]
  const list =
    limits.length > 0 ? `<ul>${limits.map((limit, i) => itemOf(limit, timeZones[i])).join('')}</ul>` : ''
  const none = limits.length === 0 && !blocked ? note('', 'Your requests are not limited.') : ''
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Usage</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header><h1>Usage</h1>${about}</header>
${notes.filter((one) => one !== undefined).join('')}${none}${list}
<footer>As of ${escaped(dateInWords(atMs - (atMs % UNIT_MS.min), zone))}. Reload the page for new figures.</footer>
</main>
</body>
</html>
`
}

function note(kind: string, text: string): string {
  return `<p class="note ${kind}">${escaped(text)}</p>`
}

function untilOf({ until }: { readonly until: string | null }, timeZone: string): string {
  return until === null ? '' : `, until ${dateInWords(Date.parse(until), timeZone)}`
}

function itemOf(limit: UsageOfLimit, timeZone: string | undefined): string {
  const { name, used, quota, remaining, over = 0, toppedUp } = limit
  // A token bucket can have more than its quota.
  const all = Math.max(used + remaining - (toppedUp ?? 0), quota)
  const share = Math.min(used / all, 1)
  const kind = remaining === 0 && over === 0 ? 'full' : share >= NEAR ? 'near' : ''
  const left = [
    `${inWords(remaining)} left`,
    ...(toppedUp === undefined ? [] : [`${inWords(toppedUp)} of them topped up`]),
    ...(over === 0 ? [] : [`${inWords(over)} beyond the quota`]),
  ]
  return `<li class="${kind}"><h2>${escaped(name)} <span>${escaped(allowanceOf(limit, timeZone))}</span></h2>
<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${(100 * share).toFixed(1)}" height="1"/></svg>
<p><span>${inWords(used)} used, ${left.join(', ')}</span><span>${escaped(backOf(limit, timeZone))}</span></p></li>`
}

function allowanceOf({ quota, unit, windowSeconds }: UsageOfLimit, timeZone: string | undefined): string {
  if (unit === 'concurrent-requests') return `${inWords(quota)} at a time`
  return `${inWords(quota)} ${perWindow(windowSeconds * 1000, timeZone)}`
}

function backOf({ resetSeconds, resetsAt }: UsageOfLimit, timeZone = 'UTC'): string {
  if (resetsAt === null) return ''
  const ms = resetSeconds * 1000
  if (ms <= LONGEST_WAIT_IN_WORDS_MS) return `more in ${waitInWords(ms)}`
  return `more on ${dateInWords(Date.parse(resetsAt), timeZone)}`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] as string)
}
