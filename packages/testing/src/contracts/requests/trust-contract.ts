import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Served } from '../../served.ts'

const PAGE = join(__dirname, '../../../../../docs/operations/security.md')

/** A setting of a framework, as docs/operations/security.md shows it, and whether clients can choose their address with it. */
export interface TrustSetting {
  /** The setting as code, exactly as on the page. */
  readonly typed: string
  /** Whether a client can choose the address that it counts by. */
  readonly isChosen: boolean
  /** Starts an application with this setting and a limit of one request per client address. */
  readonly serve: () => Promise<Served>
}

/** With the settings that docs/operations/security.md recommends, no client can choose its own address. */
export function trustContract(framework: string, settings: readonly TrustSetting[]): void {
  describe(`trust in proxies, ${framework}`, () => {
    let served: Served | undefined
    afterEach(async () => {
      await served?.close()
      served = undefined
    })

    test.each(settings)(
      '$typed: a client chooses its address: $isChosen',
      async ({ typed, isChosen, serve }) => {
        expect(readFileSync(PAGE, 'utf8')).toContain(`\`${typed}\``)
        served = await serve()
        const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
        // The header as a proxy sends it: the client's own value, then the address that the proxy saw.
        const from = async (forwarded: string): Promise<number> => {
          const headers = { 'x-forwarded-for': forwarded, 'x-real-ip': forwarded.split(', ').at(-1) ?? '' }
          return (await fetch(served?.url ?? '', { headers })).status
        }
        expect(await from('203.0.113.1, 198.51.100.7')).toBe(200)
        expect(await from('203.0.113.2, 198.51.100.7')).toBe(isChosen ? 200 : 429)
        expect(await from('203.0.113.2, 198.51.100.8')).toBe(isChosen ? 429 : 200)
        const said = warn.mock.calls.map(([text]) => String(text))
        warn.mockRestore()
        // The warning comes once per process, and each test file is a process. So only the first setting that lets
        // clients choose gets it.
        expect(said).toEqual(isChosen ? [expect.stringContaining(`${framework} trusts every proxy`)] : [])
      },
    )
  })
}
