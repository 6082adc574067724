import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './docs-pages.ts'
import { PUBLISHED } from './published.ts'

/** Links all packages of the workspace into a folder, so that programs there can import them as in an application. */
export function linkPackages(folder: string): void {
  const packages = join(root, 'packages')
  const link = (name: string, target: string): void => {
    const path = join(folder, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    if (!existsSync(path)) symlinkSync(target, path, 'junction')
  }
  for (const name of PUBLISHED) link(`@tollgate/${name}`, join(packages, name))
  for (const name of readdirSync(packages)) {
    const from = join(packages, name, 'node_modules')
    for (const entry of existsSync(from) ? readdirSync(from) : []) {
      if (entry.startsWith('.')) continue
      const inner = entry.startsWith('@')
        ? readdirSync(join(from, entry)).map((one) => `${entry}/${one}`)
        : [entry]
      for (const one of inner) link(one, join(from, one))
    }
  }
}
