// Bundles the package of the current folder: for each format a file for every face, and one for what the faces share. A face for
// browsers is a file by itself.
import { existsSync } from 'node:fs'
import { basename, resolve, sep } from 'node:path'
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
  const options = {
    tsconfig: 'tsconfig.build.json',
    resolve: { extensionAlias: { '.js': ['.ts'] } },
    // CommonJS is published as it is, since both formats can load the same file.
    external: (id) => id.endsWith('.cjs') || others.some((name) => id === name || id.startsWith(`${name}/`)),
    checks: { bundlerTimings: false },
    onLog: (_, { message }) => {
      throw new Error(message)
    },
  }
  await bundleForNode(
    facesOf(exports, ({ require }) => require),
    options,
    '.' in exports,
  )
  await bundleForBrowsers(
    facesOf(exports, ({ require }) => !require),
    options,
  )
}

const WRITTEN = {
  paths: (id) => (id.endsWith('.cjs') ? `../../src/${basename(id)}` : id),
  ...{ strict: true, exports: 'named', esModule: true, generatedCode: { symbols: false } },
  // The package has the sources, once for both formats.
  ...{ sourcemap: true, sourcemapExcludeSources: true },
  ...{ minify: false, minifyInternalExports: false, comments: false },
}

async function bundleForNode(faces, options, hasMain) {
  // Beside a main face the others are used together with it. Without one they are alternatives.
  const areTogether = hasMain && Object.keys(faces).length > 1
  const bundled = await rolldown({ ...options, input: faces, platform: 'node', plugins: [minify] })
  for (const format of ['esm', 'cjs']) {
    await bundled.write({
      ...{ format, dir: `dist/${format}`, chunkFileNames: '[name].js', ...WRITTEN },
      codeSplitting: {
        groups: [
          { name: 'shared', minShareCount: areTogether ? 1 : 2, test: (id) => !isOfOneFace(id, faces) },
        ],
      },
    })
  }
  await bundled.close()
}

/** A face `src/NAME.ts` and its folder `src/NAME` go into the face's own file: those who use other faces do not load them. */
function isOfOneFace(id, faces) {
  return Object.values(faces).some((source) => {
    const folder = resolve(source).replace(/\.ts$/, '')
    return id === `${folder}.ts` || id.startsWith(folder + sep)
  })
}

/** In browsers the source NAME.browser.ts replaces NAME.ts. */
const replaceForBrowsers = {
  name: 'replace-for-browsers',
  async resolveId(id, importer, options) {
    const found = await this.resolve(id, importer, { ...options, skipSelf: true })
    const other = found?.id.replace(/\.ts$/, '.browser.ts')
    return other !== undefined && existsSync(other) ? other : found
  },
}

/** Each face becomes one file of ESM with what it uses. Nothing of Node can be in it: the bundler refuses what it cannot resolve. */
async function bundleForBrowsers(faces, options) {
  for (const [name, source] of Object.entries(faces)) {
    const plugins = [replaceForBrowsers, minify]
    const bundled = await rolldown({ ...options, input: { [name]: source }, platform: 'browser', plugins })
    await bundled.write({ format: 'esm', dir: 'dist/esm', codeSplitting: false, ...WRITTEN })
    await bundled.close()
  }
}

/** The sources of those faces of a package, by the names of the files that they become. */
function facesOf(exports, isWanted) {
  const sources = Object.values(exports)
    .filter(isWanted)
    .flatMap((entry) => entry['@tollgate/source'] ?? [])
  return Object.fromEntries(sources.map((source) => [/([\w-]+)\.ts$/.exec(source)[1], source]))
}
