// Loaded before an example: books a top-up when the test asks for one, which the example has no route for.
import { subscribe } from 'node:diagnostics_channel'

let limiter
subscribe('tollgate:decision', (message) => {
  limiter = message.limiter
})
process.on('message', (topUp) => {
  limiter.topUp({ id: 'globex', plan: 'pro' }, topUp).then(
    () => process.send('booked'),
    (error) => process.send(String(error)),
  )
})
