import { request } from 'node:http'
import type { RoutePlace } from './route-contract.ts'

/** A request with its path as it is written here: `fetch` would put it into order first. */
function ask(url: string, path: string, init: { method?: string; headers?: object } = {}): Promise<number> {
  const { port } = new URL(url)
  return new Promise((resolve, reject) => {
    const { method = 'POST', headers } = init
    const asked = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: { 'x-api-key': 'acme', ...headers },
    })
    asked.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)))
    asked.on('error', reject)
    asked.end()
  })
}

/** A router is more tolerant than a comparison of paths is. Whatever reaches the handler must have paid. */
export function spellings({
  limiterOf,
  start,
  left,
}: Pick<RoutePlace, 'limiterOf' | 'start' | 'left'>): void {
  const TOLERATED = ['/export', '/EXPORT', '/Export/', '/export/', '/export?a=/']
  const OTHERS = [
    '//export',
    '/%65xport',
    '/export;x',
    '/export%2f',
    '/./export',
    '/x/../export',
    '/export%00',
    '/export//',
  ]
  const asks = [
    { method: 'POST' },
    { method: 'GET' },
    { method: 'HEAD' },
    { method: 'POST', headers: { 'x-http-method-override': 'PATCH' } },
    { method: 'GET', headers: { 'x-original-url': '/', 'x-rewrite-url': '/' } },
  ]

  test('what reaches the handler costs 10, however its path is written, by any method', async () => {
    let handled = 0
    const limiter = limiterOf({ limit: '1000/min' })
    const url = await start({ limiter }, { cost: 10 }, { onHandled: () => (handled += 1) })
    const unpaid: unknown[] = []
    for (const path of [...TOLERATED, ...OTHERS]) {
      for (const init of asks) {
        const [before, units] = [handled, (await left(limiter))[0] ?? 0]
        const status = await ask(url, path, init)
        const paid = units - ((await left(limiter))[0] ?? 0)
        if (TOLERATED.includes(path)) expect([path, status]).toEqual([path, 200])
        // What matches no route costs what the application says, or nothing where the framework refuses the path.
        const isRight = handled > before ? paid === 10 : paid <= 1 && status >= 400
        if (!isRight) unpaid.push([path, init, status, paid])
      }
    }
    expect(unpaid).toEqual([])
  })
}
