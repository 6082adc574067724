import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Store } from '@tollgate/core'
import { httpBench } from '../http-bench.ts'
import { redirect, respond } from '../respond.ts'
import type { AnyRequest, Serve, ServeOptions } from '../serve.ts'

type Options = ServeOptions['options']
type OnDenied = NonNullable<Options['onDenied']>

const acme = { 'x-api-key': 'acme' }
const identify = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const fail = (): never => {
  throw new Error('down')
}
/** Denies every request. */
const denied: Options = { limit: '1/h', cost: 2, identify }

/** Denials that the user's `onDenied` answers. A part of `adapterContract`. */
export function onDeniedContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`onDenied contract: ${name}`, () => {
    const { start, statuses } = httpBench(serve, makeStore, { headers: acme })

    test.each<[status: number, () => Options]>([
      [429, () => denied],
      [403, () => ({ limit: '1/h', blockList: ['acme'], identify })],
      [
        503,
        () => ({
          ...{ limit: '1/h', onStoreFailure: 'closed', identify },
          store: { synchronous: true, consume: fail, peek: fail, refund: fail, reset: fail },
        }),
      ],
    ])('one that only writes a body answers %i, unless it says another status', async (status, optionsOf) => {
      const answered = async (onDenied: OnDenied): Promise<[number, string, string]> => {
        const response = await fetch(await start({ ...optionsOf(), onDenied }), { headers: acme })
        return [response.status, response.statusText, await response.text()]
      }
      const usual = [status, STATUS_CODES[status], 'calm down']
      expect(await answered((_req, res) => respond(res, 'calm down'))).toEqual(usual)
      expect(await answered(async (_req, res) => respond(res, 'calm down'))).toEqual(usual)
      const own = await answered((_req, res) => respond(res, 'calm down', 402))
      expect(own).toEqual([402, 'Payment Required', 'calm down'])
    })

    test("one that redirects answers 302; one that sets the status of Node's response has its text", async () => {
      const url = await start({ ...denied, onDenied: (_req, res) => redirect(res, '/slow') })
      const redirected = await fetch(url, { headers: acme, redirect: 'manual' })
      expect([redirected.status, redirected.headers.get('location')]).toEqual([302, '/slow'])
      const onDenied = (_req: unknown, res: { raw?: ServerResponse; res?: ServerResponse }): void => {
        const raw = res.raw ?? res.res ?? (res as ServerResponse)
        raw.statusCode = 420
        raw.end()
      }
      const { status, statusText } = await fetch(await start({ ...denied, onDenied }), { headers: acme })
      expect([status, statusText]).toEqual([420, 'unknown'])
    })

    test.each(['throws', 'rejects'])('one that %s is an error, and no denial', async (how) => {
      const onError = jest.fn()
      const onDenied = (): Promise<void> => (how === 'throws' ? fail() : Promise.reject(new Error('down')))
      for (const rest of [{}, { onError }]) {
        expect(await statuses(await start({ ...denied, onDenied }, rest), 1)).toEqual([500])
      }
      expect(onError).toHaveBeenCalledTimes(1)
    })
  })
}
