// The options of npm run bench, and their help text.
import { parseArgs } from 'node:util'

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  only: { type: 'string', multiple: true, default: [] },
  json: { type: 'string' },
  from: { type: 'string', multiple: true, default: [] },
  write: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
  cores: { type: 'string', default: 'apart' },
  help: { type: 'boolean', short: 'h', default: false },
}

export const USAGE = `npm run bench -- [options]

  --quick          rougher: 4 minutes on an idle machine
  --only SECTION   some sections: a name, or the beginning of several; may be repeated
  --json FILE      also writes the figures of every round
  --write          also writes the page, charts, figures and the README's summary
  --from FILE      renders figures, without measuring; several files count as one run
  --check          with --from: exits with 1 if the committed files do not match the figures
  --cores WHERE    Node and Redis on one core each (apart, the default), on one (together), or free
  --help           this text
`

/** @returns {{ options?: object, problem?: string }} the options, or what is wrong with them */
export function optionsOf(args) {
  try {
    const options = parseArgs({ args, options: OPTIONS }).values
    // What it measured now is never what is committed.
    if (options.check && options.from.length === 0) return { problem: '--check: it needs --from FILE' }
    return { options }
  } catch (error) {
    return { problem: error.message.split('. ')[0] }
  }
}

/** @returns what can be typed to measure the same again */
export function commandOf({ quick, only, cores }) {
  const args = [
    ...(quick ? ['--quick'] : []),
    ...only.map((one) => `--only ${one}`),
    ...(cores === OPTIONS.cores.default ? [] : [`--cores ${cores}`]),
  ]
  return args.length === 0 ? 'npm run bench' : `npm run bench -- ${args.join(' ')}`
}
