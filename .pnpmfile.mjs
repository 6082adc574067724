// Changes the package.json of a package as it is packed: what only this repository can use does not ship.

const SOURCE = '@tollgate/source'

export const hooks = {
  beforePacking({ devDependencies: _, scripts: __, ...manifest }) {
    return { ...manifest, exports: withoutSource(manifest.exports) }
  },
}

/** The entry points without the condition that leads the tests here to the sources. */
function withoutSource(exports) {
  return Object.fromEntries(
    Object.entries(exports).map(([path, entry]) => {
      if (typeof entry === 'string') return [path, entry]
      const { [SOURCE]: _, ...conditions } = entry
      return [path, conditions]
    }),
  )
}
