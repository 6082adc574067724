import cluster from 'node:cluster'
import { warn } from '../../base/warnings.js'
import type { Store } from '../contract.js'
import { ProcessStore } from './process-store.js'

/** On globalThis, so that the ESM and the CommonJS build warn only once when a process loads both. */
const WARNED = Symbol.for('@tollgate/core: memory store in several processes')

const TEXT = `The memory store counts in each process of this application by itself, so a subject has its whole plan \
in every one of them. Count together in Redis: store: redisStore(client)`

/** Warns once if a store counts in one of several processes of an application. */
export function warnOfSeveralProcesses(store: Store): void {
  const told = globalThis as { [WARNED]?: boolean }
  if (told[WARNED] || !(store instanceof ProcessStore) || !isOneOfSeveral()) return
  told[WARNED] = true
  warn('TOLLGATE_PROCESSES', TEXT)
}

/** PM2 sets a process number from 0 and the number of processes. It uses node:cluster even for a single process. */
function isOneOfSeveral(): boolean {
  const { NODE_APP_INSTANCE: number, instances } = process.env
  if (number && number !== '0') return true
  if (Number(instances) > 1) return true
  return cluster.isWorker && !(number === '0' && Number(instances) === 1)
}
