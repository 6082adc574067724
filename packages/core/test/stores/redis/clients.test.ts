import { clientContract } from '@tollgate/testing'
import { standaloneKinds } from '../../support/clients.js'

for (const [name, kind] of Object.entries(standaloneKinds)) clientContract(name, kind)
