// A file of SQLite as the database of a store, by libsql, which has the interface of better-sqlite3.
import { setTimeout as sleep } from 'node:timers/promises'
import Connection from 'libsql'

/** How often another process that writes is waited for, in ms, and how long altogether. */
const [ASKED_EVERY_MS, BUSY_MS] = [2, 5000]

/**
 * All processes that open the file share its counts. A transaction is on disk when the file system gets to it: after
 * a power cut the last ones can be missing, after a crash of the process none is.
 *
 * @param {string} path of the file, which is made if there is none
 * @returns {import('./sql-store.js').Database & { close(): void }}
 */
export function sqlite(path) {
  const db = new Connection(path)
  // Another process may open the file at this moment.
  db.pragma(`busy_timeout = ${BUSY_MS}`)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  // To wait inside a call would stop this process, requests and all.
  db.pragma('busy_timeout = 0')
  const query = queryOf(db)
  /** The last transaction: one connection has one at a time. */
  let last = Promise.resolve()

  /** Begins as a writer, so that what is read stays true until it is written. */
  async function begin() {
    for (const since = performance.now(); ;) {
      try {
        db.exec('BEGIN IMMEDIATE')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() - since > BUSY_MS) throw error
        await sleep(ASKED_EVERY_MS)
      }
    }
  }

  return {
    // SQLite has only the clock of the machine, in ms; all processes on a file are on one machine.
    now: "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
    transaction(run) {
      const result = last.then(async () => {
        await begin()
        try {
          const value = await run(query)
          db.exec('COMMIT')
          return value
        } catch (error) {
          // SQLite has rolled back by itself where a disk is full, say.
          if (db.inTransaction) db.exec('ROLLBACK')
          throw error
        }
      })
      last = result.then(
        () => {},
        () => {},
      )
      return result
    },
    close: () => void db.close(),
  }
}

/**
 * @param {import('libsql').Database} db
 * @returns {import('./sql-store.js').Query}
 */
function queryOf(db) {
  /** @type {Map<string, import('libsql').Statement>} */
  const prepared = new Map()
  return async (text, values = []) => {
    let statement = prepared.get(text)
    if (!statement) prepared.set(text, (statement = db.prepare(text)))
    if (statement.reader) return statement.all(values)
    statement.run(values)
    return []
  }
}

/** @param {unknown} error */
function isBusy(error) {
  return /^SQLITE_BUSY/.test(String(/** @type {{ code?: unknown }} */ (error).code))
}
