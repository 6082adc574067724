// npm run api: builds, and writes what each published package exports to packages/NAME/api.txt, with every type that this mentions. A test
// compares it with what was built: so a change of what users can call is seen in review.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { entryPointsOf, readDeclarations } from './declarations.mjs'
import { prepare, publishedFolders, root } from './workspace.mjs'

/** The report of a package that is built. */
export function apiOf(folder) {
  const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const api = new Api(folder)
  const faces = entryPointsOf(exports).map(
    ({ path, types }) => `# ${join(name, path)}\n\n${api.face(join(folder, types))}`,
  )
  const mentioned = api.mentioned()
  return [...faces, ...(mentioned ? [`# Types that these mention\n\n${mentioned}`] : [])].join('\n')
}

class Api {
  #files = new Map()
  #printed = new Map()
  #pending = []

  constructor(folder) {
    this.folder = folder
  }

  /** The declarations of what an entry point exports, by name. What another one has printed is named alone. */
  face(file) {
    const { names, others } = this.#exportsOf(file)
    const again = []
    const texts = []
    for (const [name, place] of [...names].sort(byName)) {
      const found = this.#find(place)
      if (found.module) others.push(`export { ${found.name} } from '${found.module}'`)
      else if (this.#printed.has(keyOf(found))) again.push(name)
      else texts.push(this.#print(found, name))
    }
    const augments = this.#read(file).augments.map((one) => this.#textOf(file, one))
    const list = again.length > 0 ? [`also exports: ${again.join(', ')}`] : []
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
    const texts = (declared.get(place.name) ?? []).map((one) => this.#textOf(place.file, one))
    if (texts.length === 0) throw new Error(`${place.file} declares no ${place.name}`)
    return (name === place.name ? '' : `${place.name} as ${name}: `) + texts.join('\n')
  }

  #textOf(file, { text, mentions, places }) {
    const { declared, imported } = this.#read(file)
    const named = [...mentions].map((name) => (declared.has(name) ? { file, name } : imported.get(name)))
    for (const place of [...named, ...places]) {
      const found = place && this.#find(place)
      if (found?.file) this.#pending.push(found)
    }
    return text
  }

  #exportsOf(file) {
    const { exported, stars } = this.#read(file)
    const names = new Map(exported)
    const others = []
    for (const star of stars) {
      if (star.module) others.push(`export * from '${star.module}'`)
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
  for (const folder of publishedFolders)
    writeFileSync(join(root, folder, 'api.txt'), apiOf(join(root, folder)))
}
