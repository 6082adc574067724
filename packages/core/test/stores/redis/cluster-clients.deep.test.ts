import { clientContract, isDeep } from '@tollgate/testing'
import { isLatest, clusterKinds } from '../../support/clients.js'

for (const [name, kind] of Object.entries(clusterKinds))
  if (isDeep || isLatest(name)) clientContract(name, kind)
