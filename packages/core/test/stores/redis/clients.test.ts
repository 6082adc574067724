import { clientContract, isDeep } from '@tollgate/testing'
import { isLatest, standaloneKinds } from '../../support/clients.js'

for (const [name, kind] of Object.entries(standaloneKinds))
  if (isDeep || isLatest(name)) clientContract(name, kind)
