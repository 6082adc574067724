import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Packument {
  readonly name: string
  readonly 'dist-tags': Record<string, string>
  readonly versions: Record<string, { dist: { tarball: string } }>
  readonly _attachments?: Record<string, { readonly data: string }>
}

/** A registry of npm packages in memory, on 127.0.0.1. */
export interface Registry {
  readonly url: string
  /** What is published, as `name@version`. */
  readonly published: readonly string[]
  close(): Promise<void>
}

/** Starts a registry that takes what anybody publishes, and gives it to whoever asks. */
export async function startRegistry(): Promise<Registry> {
  const packages = new Map<string, Packument>()
  const tarballs = new Map<string, Buffer>()
  const published: string[] = []
  const server = createServer((req, res) => {
    const path = decodeURIComponent(req.url ?? '').slice(1)
    const send = (status: number, body: string | Buffer): void => void res.writeHead(status).end(body)
    if (req.method === 'PUT') void take(req).then(() => send(201, '{}'))
    else if (tarballs.has(path)) send(200, tarballs.get(path) as Buffer)
    else if (packages.has(path)) send(200, JSON.stringify(packages.get(path)))
    else send(404, '{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, published, close: () => new Promise((resolve) => void server.close(() => resolve())) }

  async function take(req: IncomingMessage): Promise<void> {
    const { _attachments = {}, ...sent }: Packument = JSON.parse(await textOf(req))
    const known = packages.get(sent.name)
    for (const [file, { data }] of Object.entries(_attachments))
      tarballs.set(file, Buffer.from(data, 'base64'))
    for (const [version, manifest] of Object.entries(sent.versions)) {
      manifest.dist.tarball = `${url}${sent.name}-${version}.tgz`
      published.push(`${sent.name}@${version}`)
    }
    packages.set(sent.name, { ...known, ...sent, versions: { ...known?.versions, ...sent.versions } })
  }
}

async function textOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
