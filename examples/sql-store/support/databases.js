// The databases of the tests: each makes one that is empty, with the table.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import pg from 'pg'
import { postgres } from '../src/postgres.js'
import { createTable } from '../src/sql-store.js'
import { sqlite } from '../src/sqlite.js'

/** In a folder of its own. */
export async function openSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-sql-'))
  const path = join(folder, 'counts.db')
  const db = sqlite(path)
  await createTable(db)
  const close = async () => {
    db.close()
    rmSync(folder, { recursive: true })
  }
  return { db, path, close }
}

/**
 * By the driver that applications use. POSTGRES_URL names a server of yours, where they use the schema `tollgate_test`; without
 * it, PGlite, which is PostgreSQL in this process.
 */
export async function openPostgres() {
  const server = process.env.POSTGRES_URL ? undefined : await serve()
  const pool = new pg.Pool({ connectionString: process.env.POSTGRES_URL ?? server.url, max: 4 })
  await pool.query('DROP SCHEMA IF EXISTS tollgate_test CASCADE')
  await pool.query('CREATE SCHEMA tollgate_test')
  // Sent before all that the connection is asked afterwards.
  pool.on('connect', (client) => void client.query('SET search_path TO tollgate_test'))
  await pool.query('SET search_path TO tollgate_test')
  const db = postgres(pool)
  await createTable(db)
  const close = async () => {
    await pool.query('DROP SCHEMA tollgate_test CASCADE')
    await pool.end()
    await server?.stop()
  }
  return { db, close }
}

async function serve() {
  const inner = await PGlite.create()
  const server = new PGLiteSocketServer({ db: inner, host: '127.0.0.1', port: 0, maxConnections: 4 })
  await server.start()
  const stop = async () => {
    await server.stop()
    await inner.close()
  }
  return { url: `postgres://postgres@127.0.0.1:${server.port}/postgres`, stop }
}
