import { redisStore } from '@tollgate/core'
import { connect } from '../client.mjs'

/** @param {{ client: string, target: object }} options */
export async function open({ client: module, target }) {
  const client = await connect({ module, ...target })
  return { store: redisStore(client), close: () => client.disconnect() }
}
