// Importing this gives the programs of examples patient limiters, from then on.
import { register } from 'node:module'

register('./hooks.js', import.meta.url)
