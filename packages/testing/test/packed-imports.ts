// The import lines of the programs of packed.deep.test.ts.

/** The names that a program imports, by module. */
export type Needs = Readonly<Record<string, readonly string[]>>

/** The import lines of a program, from the names of each module. */
const needs = (used: Needs, line: (names: string, module: string) => string): string =>
  Object.entries(used)
    .map(([module, names]) => line(names.join(', '), module))
    .join('\n')
export const importsOf = (used: Needs): string =>
  needs(used, (names, module) => `import { ${names} } from '${module}'`)
export const requiresOf = (used: Needs): string =>
  needs(used, (names, module) => `const { ${names} } = require('${module}')`)
