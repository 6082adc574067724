import { findBinary, type Machine } from '../servers/binary.ts'

export const NO_REDIS = [
  'The tests need a real Redis, and there is none here. Any of these will do:',
  '  - set REDIS_URL to one that the tests may write to,',
  '  - put redis-server or valkey-server on the PATH (the tests start and stop their own),',
  '  - start Docker, or run as root on Debian or Ubuntu, where redis-server can be installed.',
].join('\n')

/** @throws when there is no Redis or Valkey, and none can be installed */
export function findRedisBinary(machine?: Machine): string {
  return findBinary({ names: ['redis-server', 'valkey-server'], remedy: NO_REDIS }, machine)
}
