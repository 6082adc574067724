import { ConfigError, show } from '../../base/errors.js'
import { isOptions } from '../../base/options.js'

type Given = Readonly<Record<string, unknown>>

/** Parts of a limit that stand beside it most often by mistake. `name` is another option there. */
const PARTS = ['quota', 'window', 'burst', 'algorithm', 'timeZone', 'anchor', 'precision']

/** Parts of a limit given as options of their own: the limit they make, with the values that were given. */
export function errorOfParts(given: object, unknown: readonly string[]): ConfigError | undefined {
  const parts = PARTS.filter((part) => unknown.includes(part))
  const [first] = parts
  if (first === undefined) return undefined
  const named = parts.map((part) => `\`${part}\``).join(' and ')
  const what = parts.length === 1 ? 'it is a part' : `${named} are parts`
  return new ConfigError(first, `${what} of a limit: write ${limitOf(given as Given, parts)}`)
}

function limitOf(given: Given, parts: readonly string[]): string {
  const { limit, burst } = given
  if (typeof limit === 'string' && parts.length === 1 && typeof burst === 'number') {
    return `limit: ${show(`${limit} burst ${burst}`)}`
  }
  const values: Given = {
    quota: 100,
    window: 'min',
    ...outerOf(limit),
    ...Object.fromEntries(parts.map((part) => [part, given[part]])),
  }
  const text = Object.entries(values).map(([name, value]) => `${name}: ${valueOf(value)}`)
  const long = `{ ${text.join(', ')} }`
  return isOptions(given.plans) ? `it in the plan, such as free: ${long}` : `limit: ${long}`
}

/** What the limit itself says, where that can be told. */
function outerOf(limit: unknown): object {
  if (isOptions(limit)) return limit
  const [, quota, window] = (typeof limit === 'string' && /^(\d{1,13})\/([\w ]{1,16})$/.exec(limit)) || []
  return quota === undefined ? {} : { quota: Number(quota), window }
}

/** As one types it; of what is no text and no number only that there is something. */
function valueOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? show(value) : '...'
}
