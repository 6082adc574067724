// Runs the example; with --once it also asks it and checks the answers.
import { playSaas } from '../example-kit/src/saas.js'

await playSaas(new URL('src/app.js', import.meta.url).href)
