// Prints what is wrong with the types of these tarballs, as JSON: { package: { types, problems } }. One process for all,
// since the check loads TypeScript and its library.
import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'

const found = {}
for (const tarball of process.argv.slice(2)) {
  const { packageName, types, problems } = await checkPackage(
    createPackageFromTarballData(readFileSync(tarball)),
  )
  // What is for browsers is ESM alone.
  const others = problems.filter(
    ({ kind, entrypoint }) => kind !== 'CJSResolvesToESM' || entrypoint !== './browser',
  )
  found[packageName] = { types: types && types.kind, problems: others }
}
console.log(JSON.stringify(found))
