// Bundles the package of the current folder: for each format a file for every face, and one for what the faces share.
import { rolldown } from 'rolldown'
import { minifySync, parseSync, Visitor } from 'rolldown/utils'
import { withBreaks } from './line-breaks.mjs'

/**
 * Locals, constants and private fields get short names. Functions, methods and classes keep theirs: stacks show them.
 * Nothing is rewritten otherwise, so what runs is what the tests of the sources have tried.
 */
const MINIFY = {
  module: true,
  compress: false,
  mangle: { toplevel: true, keepNames: true },
  codegen: { removeWhitespace: true },
  sourcemap: true,
}

/** Lines of minified code end after so many characters, with a statement: Node prints the line of an uncaught error. */
const LINE = 100

const minify = {
  name: 'minify',
  renderChunk(bundled, { fileName }) {
    const { code, map, errors } = minifySync(fileName, withOpenMethods(bundled, fileName), MINIFY)
    if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'))
    const minified = code.replaceAll(PRIVATE, '#')
    return withBreaks(minified, map, startsIn(minified, fileName))
  },
}

/** A letter that stands for the `#` of private methods, whose names would be shortened. */
const PRIVATE = 'ⵌ'

function withOpenMethods(code, fileName) {
  if (code.includes(PRIVATE)) throw new Error(`${fileName} contains ${PRIVATE}`)
  const [methods, found] = [new Set(), []]
  const visitor = new Visitor({
    MethodDefinition: ({ key }) => key.type === 'PrivateIdentifier' && methods.add(key.name),
    PrivateIdentifier: (identifier) => found.push(identifier),
  })
  visitor.visit(parseSync(fileName, code).program)
  const letters = code.split('')
  for (const { name, start } of found) if (methods.has(name)) letters[start] = PRIVATE
  return letters.join('')
}

/** Where lines begin: with statements, and with members of classes. */
function startsIn(code, fileName) {
  const starts = []
  const add = ({ body }) => starts.push(...body.map(({ start }) => start))
  new Visitor({ Program: add, BlockStatement: add, ClassBody: add }).visit(parseSync(fileName, code).program)
  let last = 0
  return starts
    .sort((a, b) => a - b)
    .filter((start) => {
      const isFar = start - last >= LINE
      if (isFar) last = start
      return isFar
    })
}

/** @param manifest the package.json */
export async function bundle({ exports, dependencies, peerDependencies }) {
  const others = Object.keys({ ...dependencies, ...peerDependencies })
  const faces = facesOf(exports)
  // Beside a main face the others are used together with it. Without one they are alternatives.
  const areTogether = '.' in exports && Object.keys(faces).length > 1
  const bundled = await rolldown({
    input: faces,
    platform: 'node',
    tsconfig: 'tsconfig.build.json',
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    external: (id) => others.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [minify],
    checks: { bundlerTimings: false },
    onLog: (_, { message }) => {
      throw new Error(message)
    },
  })
  for (const format of ['esm', 'cjs']) {
    await bundled.write({
      ...{ format, dir: `dist/${format}`, chunkFileNames: '[name].js' },
      ...{ strict: true, exports: 'named', esModule: true, generatedCode: { symbols: false } },
      // The package has the sources, once for both formats.
      ...{ sourcemap: true, sourcemapExcludeSources: true },
      ...{ minify: false, minifyInternalExports: false, comments: false },
      codeSplitting: { groups: [{ name: 'shared', minShareCount: areTogether ? 1 : 2 }] },
    })
  }
  await bundled.close()
}

/** The sources of a package's faces, by the names of the files that they become. */
function facesOf(exports) {
  const sources = Object.values(exports).flatMap((entry) => entry['@tollgate/source'] ?? [])
  return Object.fromEntries(sources.map((source) => [/([\w-]+)\.ts$/.exec(source)[1], source]))
}
