// Changes the package.json of a package as it is packed: what only this repository can use does not ship.

/** The condition that leads the tests here to the sources. */
const SOURCE = '@tollgate/source'

export const hooks = {
  beforePacking({ devDependencies: _, scripts: __, ...manifest }) {
    return { ...manifest, exports: withoutSource(manifest.exports) }
  },
}

function withoutSource(entry) {
  if (typeof entry === 'string') return entry
  const others = Object.entries(entry).filter(([condition]) => condition !== SOURCE)
  return Object.fromEntries(others.map(([condition, one]) => [condition, withoutSource(one)]))
}
