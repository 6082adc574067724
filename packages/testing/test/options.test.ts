// Options of public calls can be given as undefined, which means not given: `store: shared ?? undefined` compiles for users with
// exactOptionalPropertyTypes, too.
import { nodesOf, parseTypeScript, read, sources, type Node } from './source-files.ts'

/** The optional properties of the interfaces named `...Options` in these sources: whether each takes undefined. */
function optionsIn(text: string): [name: string, takesUndefined: boolean][] {
  const isOfOptions = ({ type, id }: Node): boolean =>
    type === 'TsInterfaceDeclaration' && String((id as Node).value).endsWith('Options')
  return [...nodesOf(parseTypeScript(text))].filter(isOfOptions).flatMap(({ id, body }) =>
    ((body as Node).body as Node[])
      .filter(({ optional }) => optional)
      .map(({ key, typeAnnotation }): [string, boolean] => {
        const { types = [] } = (typeAnnotation as Node).typeAnnotation as { readonly types?: Node[] }
        const name = [id, key].map((part) => (part as Node).value).join('.')
        return [name, types.some(({ kind }) => kind === 'undefined')]
      }),
  )
}

test('every option that can be left out can be undefined, in all packages', () => {
  const options = sources.filter((file) => file.endsWith('.ts')).flatMap((file) => optionsIn(read(file)))
  const names = options.map(([name]) => name)
  expect(names).toEqual(expect.arrayContaining(['LimiterOptions.store', 'RateLimitOptions.onDenied']))
  expect(options.filter(([, takesUndefined]) => !takesUndefined).map(([name]) => name)).toEqual([])
})

test('an option that refuses undefined is found', () => {
  const text =
    'export interface SomeOptions { readonly a?: (() => undefined) | 1; readonly b?: 1 | undefined }'
  expect(optionsIn(text)).toEqual([
    ['SomeOptions.a', false],
    ['SomeOptions.b', true],
  ])
})
