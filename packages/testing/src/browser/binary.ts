import { findBinary, type Machine } from '../servers/binary.ts'

export const NO_CHROMIUM = [
  'The tests need a real Chromium, and there is none here. Any of these will do:',
  '  - put chromium on the PATH,',
  '  - run as root on Debian or Ubuntu, where it can be installed.',
].join('\n')

/** @throws when there is no Chromium, and none can be installed */
export function findChromium(machine?: Machine): string {
  return findBinary(
    { names: ['chromium', 'chromium-browser', 'google-chrome'], remedy: NO_CHROMIUM },
    machine,
  )
}
