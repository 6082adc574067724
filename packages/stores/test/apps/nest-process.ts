// Serves applications of NestJS, which jest cannot load, for another process.
import { buildNest } from './nest.ts'
import { open, type App, type Spec } from './opened.ts'

export interface Call {
  readonly id: number
  readonly method: 'open' | 'passTime' | 'stats' | 'close'
  readonly app: number
  readonly given?: unknown
}

// The output of the tests is quiet: some take the store away on purpose. Any other warning is shown.
const TROUBLES = ['TOLLGATE_STORE', 'TOLLGATE_STORE_BACK']
const emit = process.emitWarning
process.emitWarning = ((text: string, options?: { code?: string }) => {
  if (!TROUBLES.includes(options?.code ?? '')) emit.call(process, text, options as never)
}) as typeof process.emitWarning

const apps = new Map<number, App>()

async function run({ method, app, given }: Call): Promise<unknown> {
  if (method === 'open') {
    const opened = await open(given as Spec, buildNest)
    apps.set(app, opened)
    return opened.url
  }
  const opened = apps.get(app) as App
  return method === 'passTime' ? opened.passTime(given as number) : opened[method]()
}

process.on('message', (call: Call) => {
  run(call).then(
    (value) => process.send?.({ id: call.id, value }),
    (error: Error) => process.send?.({ id: call.id, error: error.stack }),
  )
})
