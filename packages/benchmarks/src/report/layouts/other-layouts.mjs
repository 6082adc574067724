// The sections whose tables stand in files of their own.
import { BILLING_DAYS } from './billing-days-layout.mjs'
import { OWN_LIMITS } from './own-limits-layout.mjs'
import { SHEDDING } from './shedding-layout.mjs'
import { TRAFFIC } from './traffic-layout.mjs'

export const OTHERS = {
  ...{ shedding: SHEDDING, 'own-limits': OWN_LIMITS, 'billing-days': BILLING_DAYS },
  traffic: TRAFFIC,
}
