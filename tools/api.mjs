// npm run api: builds, and writes what each published package exports, with every type that this mentions: to packages/NAME/api.txt without
// comments, and with its docstrings to docs/reference/api. A test compares both with what was built: so a change of what users can call is
// seen in review.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { entryPointsOf, readDeclarations } from './declarations.mjs'
import { PAGE } from './api-page.mjs'
import { prepare, publishedFolders, root } from './workspace.mjs'

/** How a report is written. */
const REPORT = {
  title: () => '',
  heading: (text) => `# ${text}\n\n`,
  more: 'Types that these mention',
  star: (module) => `export * from '${module}'`,
  again: (names) => `also exports: ${names.join(', ')}`,
  moved: ({ name, module }) => `export { ${name} } from '${module}'`,
  declared: (name, place, all) =>
    (name === place.name ? '' : `${place.name} as ${name}: `) + all.map(({ text }) => text).join('\n'),
  augments: ({ text }) => text,
}

/** The report of a package that is built. */
export const apiOf = (folder) => writtenBy(REPORT, folder)

/** The page of the docs on it. */
export const pageOf = (folder) => writtenBy(PAGE, folder)

function writtenBy(write, folder) {
  const { name, exports, description } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const api = new Api(write)
  const faces = entryPointsOf(exports).map(
    ({ path, types }) => `${write.heading(join(name, path))}${api.face(join(folder, types))}`,
  )
  const mentioned = api.mentioned()
  const all = [...faces, ...(mentioned ? [`${write.heading(write.more)}${mentioned}`] : [])]
  return write.title(name, description) + all.join('\n')
}

class Api {
  #files = new Map()
  #printed = new Map()
  #pending = []

  constructor(write) {
    this.write = write
  }

  /** The declarations of what an entry point exports, by name. What another one has printed is named alone. */
  face(file) {
    const { names, others } = this.#exportsOf(file)
    const again = []
    const texts = []
    for (const [name, place] of [...names].sort(byName)) {
      const found = this.#find(place)
      if (found.module) others.push(this.write.moved(found))
      else if (this.#printed.has(keyOf(found))) again.push(name)
      else texts.push(this.#print(found, name))
    }
    const augments = this.#read(file).augments.map((one) => this.write.augments(this.#noting(file, one)))
    const list = again.length > 0 ? [this.write.again(again)] : []
    return [...others, ...list, ...texts, ...augments].map((text) => `${text}\n`).join('')
  }

  /** The declarations that the printed ones mention, and that no entry point exports. */
  mentioned() {
    const found = new Map()
    for (const place of this.#pending) {
      const key = keyOf(place)
      if (this.#printed.has(key)) continue
      found.set(key, [place.name, this.#print(place, place.name)])
    }
    return [...found.values()]
      .sort(byName)
      .map(([, text]) => `${text}\n`)
      .join('')
  }

  #print(place, name) {
    this.#printed.set(keyOf(place), name)
    const { declared } = this.#read(place.file)
    const all = (declared.get(place.name) ?? []).map((one) => this.#noting(place.file, one))
    if (all.length === 0) throw new Error(`${place.file} declares no ${place.name}`)
    return this.write.declared(name, place, all)
  }

  /** The declaration itself. What it mentions is printed later. */
  #noting(file, one) {
    const { mentions, places } = one
    const { declared, imported } = this.#read(file)
    const named = [...mentions].map((name) => (declared.has(name) ? { file, name } : imported.get(name)))
    for (const place of [...named, ...places]) {
      const found = place && this.#find(place)
      if (found?.file) this.#pending.push(found)
    }
    return one
  }

  #exportsOf(file) {
    const { exported, stars } = this.#read(file)
    const names = new Map(exported)
    const others = []
    for (const star of stars) {
      if (star.module) others.push(this.write.star(star.module))
      else
        for (const [name, place] of this.#exportsOf(star.file).names)
          if (!names.has(name)) names.set(name, place)
    }
    return { names, others }
  }

  /** Where a name that is exported or imported is declared. */
  #find(place) {
    if (place.module) return place
    const { declared, imported } = this.#read(place.file)
    if (declared.has(place.name)) return place
    const next = imported.get(place.name) ?? this.#exportsOf(place.file).names.get(place.name)
    return next ? this.#find(next) : place
  }

  #read(file) {
    if (!this.#files.has(file)) this.#files.set(file, readDeclarations(file))
    return this.#files.get(file)
  }
}

const keyOf = ({ file, name }) => `${file} ${name}`
const byName = ([a], [b]) => (a < b ? -1 : 1)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await prepare()
  const pages = join(root, 'docs/reference/api')
  mkdirSync(pages, { recursive: true })
  for (const folder of publishedFolders) {
    writeFileSync(join(root, folder, 'api.txt'), apiOf(join(root, folder)))
    writeFileSync(join(pages, `${basename(folder)}.md`), pageOf(join(root, folder)))
  }
}
