import { clientContract } from '@tollgate/testing'
import { clusterKinds } from '../../support/clients.js'

for (const [name, kind] of Object.entries(clusterKinds)) clientContract(name, kind)
