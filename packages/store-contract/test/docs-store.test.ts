// The first store of docs/guides/writing-a-store.md passes the store contract.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from '@swc/core'
import * as kit from '@tollgate/core/store'
import { storeContract } from '../src/index.js'

const page = readFileSync(join(__dirname, '../../../docs/guides/writing-a-store.md'), 'utf8')
const [, program = ''] = /```ts\n([\s\S]*?)```/.exec(page) ?? []

function load(): { mapStore(): kit.Store } {
  const jsc = { target: 'es2022', parser: { syntax: 'typescript' } } as const
  const { code } = transformSync(program, { jsc, module: { type: 'commonjs' } })
  const exported = {} as { mapStore(): kit.Store }
  // oxlint-disable-next-line typescript/no-implied-eval -- the page is ours
  new Function('exports', 'require', code)(exported, () => kit)
  return exported
}

const { mapStore } = load()
for (const { name, check } of storeContract(() => mapStore())) test(name, check)
