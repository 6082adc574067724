// Lets Node run TypeScript without a build: node --import ./typescript.mjs main.ts
import { readFile } from 'node:fs/promises'
import { register } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { transform } from '@swc/core'

// Node runs the hook on another thread, which imports this file again.
if (isMainThread) register(import.meta.url)

/** Core's sources import one another by the names that they have once built. */
export function resolve(specifier, context, next) {
  const isOfSource = specifier.startsWith('.') && context.parentURL?.endsWith('.ts')
  return next(isOfSource ? specifier.replace(/\.js$/, '.ts') : specifier, context)
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context)
  const filename = fileURLToPath(url)
  const { code } = await transform(await readFile(filename, 'utf8'), {
    filename,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
    sourceMaps: 'inline',
  })
  return { format: 'module', source: code, shortCircuit: true }
}
