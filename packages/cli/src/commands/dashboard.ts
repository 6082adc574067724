import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dashboard } from '@tollgate/admin'
import { CommandError, EXIT, wrong, type ExitCode } from '../errors.js'
import {
  configure,
  withPlansOfStore,
  type Configuration,
  type Context,
  type SharedFlags,
} from '../session/configuration.js'
import { needHashIds, withSession, type Session } from '../session/session.js'
import { addCommand, withConnection, type Shell } from './command.js'

type DashboardFlags = SharedFlags & { readonly port?: string; readonly readOnly?: boolean }

export function addDashboard(shell: Shell): void {
  const command = addCommand<DashboardFlags>(
    shell,
    {
      usage: 'dashboard',
      summary: 'a page for your browser: who is busy, near and denied, and what to do about it',
      about:
        'Serves the dashboard on this machine alone, until Ctrl-C. The link that it prints lets one browser in.',
      examples: [
        ['dashboard', 'on a free port'],
        ['dashboard --port 4980 --read-only', 'on this port, and only to look'],
      ],
    },
    serve,
  )
  command
    .option('--port <number>', 'the port on 127.0.0.1 (default: a free one)')
    .option('--read-only', 'nothing can be changed')
  withConnection(command)
}

async function serve(context: Context<DashboardFlags>): Promise<ExitCode> {
  const port = readPort(context.flags.port)
  const configuration: Configuration = await configure(context)
  const work = (session: Session): Promise<ExitCode> => serveFor(context, session, port)
  return withSession(context, configuration, work, { complete: withPlansOfStore, isLasting: true })
}

/** @throws {CommandError} */
function readPort(given: string | undefined): number {
  if (given === undefined) return 0
  const port = /^\d{1,5}$/.test(given) ? Number(given) : 0
  if (port >= 1 && port <= 65_535) return port
  throw wrong('--port', given, 'a whole number from 1 to 65535')
}

async function serveFor(
  { flags, host, out }: Context<DashboardFlags>,
  session: Session,
  port: number,
): Promise<ExitCode> {
  await needHashIds(session)
  const handler = dashboard(session.limiter, { readOnly: flags.readOnly === true })
  const server = createServer(handler)
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => {
      const hint = 'Pass another --port, or none for a free one.'
      reject(new CommandError(EXIT.usage, `--port: ${port} cannot be used (${code}).`, hint))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?token=${handler.token}`
  out.json({ url })
  out.say(`The dashboard of ${session.address.shown}: open this link in a browser on this machine.`)
  out.line()
  out.line(`  ${url}`)
  out.line()
  out.say('It lets one browser in, once. Ctrl-C ends it.')
  await new Promise<void>((resolve) => {
    host.onInterrupt(resolve)
  })
  server.close()
  server.closeAllConnections()
  return EXIT.done
}
