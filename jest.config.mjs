import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const isDeep = process.env.TOLLGATE_DEEP === '1'
const packages = readdirSync('packages').filter((name) => name !== 'benchmarks')

/** One root run: every package is a project, and the Redis of the run is started once for all of them. */
export default {
  globalSetup: './packages/testing/src/jest/global-setup.ts',
  globalTeardown: './packages/testing/src/jest/global-teardown.ts',
  reporters: ['default', './tools/running-files.mjs'],
  testSequencer: './tools/test-sequencer.mjs',
  // Only what hangs takes that long, on any machine.
  testTimeout: isDeep ? 900_000 : 240_000,
  ...(isDeep && { filter: './tools/deep-tests.cjs' }),
  // A file can leave clients and timers behind, which slow down those that run after it in the same process.
  workerIdleMemoryLimit: '400MB',
  projects: packages.map((name) => ({
    displayName: name,
    rootDir: `packages/${name}`,
    testMatch: ['<rootDir>/test/**/*.test.ts'],
    // What is tried in the deep run alone.
    testPathIgnorePatterns: ['/node_modules/', ...(isDeep ? [] : ['\\.deep\\.test\\.ts$'])],
    setupFilesAfterEnv: [join(import.meta.dirname, 'packages/testing/src/jest/warnings.ts')],
    testEnvironment: 'node',
    testEnvironmentOptions: {
      customExportConditions: ['@tollgate/source', 'node', 'node-addons', 'require', 'default'],
    },
    moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
    transform: {
      '^.+\\.ts$': [
        '@swc/jest',
        { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
      ],
    },
  })),
}
