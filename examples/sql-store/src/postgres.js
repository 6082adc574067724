// PostgreSQL as the database of a store, by a pool of pg.

/**
 * @param {Pool} pool of connections; who made it ends it
 * @returns {import('./sql-store.js').Database}
 *
 * @typedef {{ query(text: string, values?: unknown[]): Promise<{ rows: any[] }>, release(error?: Error): void }} Client
 * @typedef {{ connect(): Promise<Client> }} Pool
 */
export function postgres(pool) {
  return {
    // Not now(), which is the time at which the transaction began: it may have waited for a row since.
    now: 'CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)',
    async transaction(run) {
      const client = await pool.connect()
      try {
        // Each statement sees what others have committed by then: also where the server's default is stricter.
        await client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
        const value = await run(async (text, values) => (await client.query(text, values)).rows)
        await client.query('COMMIT')
        client.release()
        return value
      } catch (error) {
        await client.query('ROLLBACK').then(
          () => client.release(),
          (lost) => client.release(lost),
        )
        throw error
      }
    },
  }
}
