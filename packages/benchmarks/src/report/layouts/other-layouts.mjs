// The sections whose tables stand in files of their own.
import { OWN_LIMITS } from './own-limits-layout.mjs'
import { SHEDDING } from './shedding-layout.mjs'

export const OTHERS = { shedding: SHEDDING, 'own-limits': OWN_LIMITS }
