import { figuresOf, type Run, type Times } from './figures.ts'
import { CLIENT_OF, FLOODING, GOOD, QUOTA_OF, TENANTS } from './settings.ts'

const HEAD = [
  'fault',
  'policy',
  'framework, client',
  'answers',
  'p50 / p99 / max before the breaker opens, ms',
  'while it is open',
  'as clients saw it',
  'no answer',
  'flooding tenant over its plan outside / during',
  'good ones',
  'back after, ms',
  'wrong',
]

export function head(): string {
  return [HEAD, HEAD.map(() => '---')].map(line).join('\n')
}

export function row(run: Run, wrong: readonly string[]): string {
  const { byStatus, before, open, client, backMs, most } = figuresOf(run)
  const { 0: unanswered = 0, ...answered } = byStatus
  const over = (who: string): [outside: number, during: number] => {
    const quota = QUOTA_OF[TENANTS[who]?.plan ?? ''] ?? 0
    const { outside = 0, ever = 0 } = most[who] ?? {}
    return [Math.max(0, outside - quota), Math.max(0, ever - quota)]
  }
  const good = GOOD.map(over)
  return line([
    run.fault.name,
    run.policy,
    `${run.framework}, ${CLIENT_OF[run.framework]}`,
    Object.entries(answered)
      .map(([status, count]) => `${count} x ${status}`)
      .join(', '),
    show(before),
    show(open),
    show(client),
    String(unanswered),
    over(FLOODING).join(' / '),
    `${Math.max(...good.map(([outside]) => outside))} / ${Math.max(...good.map(([, during]) => during))}`,
    run.fault.isForGood ? '' : (backMs?.toFixed(0) ?? 'never'),
    wrong.length === 0 ? 'nothing' : wrong.join('; '),
  ])
}

function show({ count, p50, p99, max }: Times): string {
  return count === 0 ? '' : [p50, p99, max].map((ms) => ms.toFixed(ms < 10 ? 1 : 0)).join(' / ')
}

function line(cells: readonly string[]): string {
  // Output of a crashed process has several lines, but a table row must be one line.
  return `| ${cells.join(' | ').replaceAll('\n', ' ')} |`
}
