// Tries the example. The order matters: the kit says which port and counters are the example's.
import { playSaas } from '@tollgate/example-kit/saas'
import * as app from './app.js'

await playSaas(app)
