// A store for Tollgate's limiters in a SQL database: SQLite, PostgreSQL, or another that knows ON CONFLICT and RETURNING.
// To copy, with counting.js, rows.js and sqlite.js or postgres.js: npm install @tollgate/core libsql
import { ID_KEPT_MS, StoreError } from '@tollgate/core/store'
import { decide, giveBack, look } from './counting.js'
import { Row } from './rows.js'

/**
 * @typedef {(text: string, values?: unknown[]) => Promise<any[]>} Query asks with `$1`, `$2` for values; returns rows
 *
 * @typedef {object} Database what a store needs of a database
 * @property {string} now the time of its server in µs since 1970, as SQL
 * @property {<T>(run: (query: Query) => Promise<T>) => Promise<T>} transaction runs in a transaction, which ends with
 *   ROLLBACK if `run` rejects; a row that it writes stays its own until then
 *
 * @typedef {import('@tollgate/core/store').Store} Store
 * @typedef {import('@tollgate/core/store').StoreRequest} StoreRequest
 * @typedef {import('@tollgate/core/store').RefundRequest} RefundRequest
 */

/** Rows that nothing counts in any more are deleted about so often, in ms, and so many at a time. */
const [SWEPT_EVERY_MS, SWEPT_AT_ONCE] = [1000, 100]

/**
 * Makes the table that stores of this database count in, if there is none. Call it where you change schemas.
 *
 * @param {Database} db
 * @param {string} [table] default: `tollgate`
 */
export async function createTable(db, table = 'tollgate') {
  checkName(table)
  await db.transaction(async (query) => {
    await query(
      `CREATE TABLE IF NOT EXISTS ${table} (key TEXT PRIMARY KEY, state TEXT NOT NULL, expires BIGINT NOT NULL)`,
    )
    await query(`CREATE INDEX IF NOT EXISTS ${table}_expires ON ${table} (expires)`)
  })
}

/**
 * Counts in a table that `createTable` made. All processes on the database count together, by its clock. A batch is one
 * transaction, in which its keys are its own.
 *
 * @param {Database} db who made it closes it
 * @param {{ table?: string }} [options] default: `tollgate`
 * @returns {Store}
 */
export function sqlStore(db, { table = 'tollgate' } = {}) {
  checkName(table)
  const sweeper = makeSweeper(db, table)

  /**
   * Locks and reads rows, calls `work`, and writes what has changed.
   *
   * @template T
   * @param {readonly string[]} names
   * @param {(rows: Rows, at: number) => T} work
   * @param {{ readonly isOver: boolean }} [call]
   */
  async function inRows(names, work, call) {
    const result = await db.transaction(async (query) => {
      needTime(call)
      const { texts, at } = await lockRows(query, { db, table, names })
      // Others may have held these rows until now. What is rolled back is counted for nobody.
      needTime(call)
      const rows = new Rows(texts)
      const value = work(rows, at)
      await writeRows(query, table, rows.changed(at))
      return value
    })
    sweeper.wake()
    return result
  }

  return {
    synchronous: false,
    atomic: true,
    slots: true,
    clock: 'server',
    space: db,
    consume: (batch, call) =>
      inRows(namesOf(batch), (rows, at) => batch.map((request) => decideOnce(request, rows, at)), call),
    async peek(batch) {
      const { texts, at } = await db.transaction((query) =>
        readRows(query, { db, table, names: namesOf(batch) }),
      )
      const rows = new Rows(texts)
      return batch.map((request) => look(request, rows.of, at))
    },
    refund: (batch) =>
      inRows(namesOf(batch), (rows, at) =>
        batch.map((request) => rows.once(request.id, at, () => giveBack(request, rows.of, at))),
      ),
    reset: (keys) => forget(db, table, keys),
    close: () => sweeper.stop(),
  }
}

/**
 * Deletes rows. Returns whether there were any.
 *
 * @param {Database} db
 * @param {string} table
 * @param {readonly string[]} keys
 */
async function forget(db, table, keys) {
  let wasThere = false
  // One after another: a transaction that locks several rows in an order of its own could wait for another forever.
  for (const key of keys) {
    const text = `DELETE FROM ${table} WHERE key = $1 RETURNING key`
    const found = await db.transaction((query) => query(text, [nameOf(key)]))
    wasThere ||= found.length > 0
  }
  return wasThere
}

/**
 * A request with an id takes nothing when it comes again, and gets what it was granted the first time.
 *
 * @param {StoreRequest} request
 * @param {Rows} rows
 * @param {number} at
 */
function decideOnce(request, rows, at) {
  /** @type {import('@tollgate/core/store').Outcome | undefined} */
  let outcome
  const first = rows.once(request.id, at, () => {
    outcome = decide(request, rows.of, at)
    return outcome.limits.map(({ granted = 0 }) => granted)
  })
  if (outcome) return outcome
  const { limits } = look(request, rows.of, at)
  return { at, limits: limits.map((limit, i) => ({ ...limit, wait: 0, granted: first[i] ?? 0 })) }
}

/** The rows of a transaction, by their names. */
class Rows {
  /** @type {Map<string, string>} what stands in the database */
  #texts
  /** @type {Map<string, Row>} */
  #rows = new Map()
  /** @type {Map<string, { text: string, expires: number }>} */
  #answers = new Map()

  /** @param {Map<string, string>} texts */
  constructor(texts) {
    this.#texts = texts
  }

  /** @param {string} key */
  of = (key) => {
    const name = nameOf(key)
    const row = this.#rows.get(name) ?? new Row(this.#texts.get(name) ?? '')
    this.#rows.set(name, row)
    return row
  }

  /**
   * Does what has an id once, and remembers the answer.
   *
   * @template T
   * @param {string | undefined} id
   * @param {number} at
   * @param {() => T} work
   * @returns {T}
   */
  once(id, at, work) {
    if (id === undefined) return work()
    const name = idName(id)
    const known = this.#answers.get(name)?.text ?? this.#texts.get(name)
    if (known) return JSON.parse(known)
    const answer = work()
    this.#answers.set(name, { text: JSON.stringify(answer), expires: at + ID_KEPT_MS * 1000 })
    return answer
  }

  /**
   * @param {number} at
   * @returns {[name: string, row: { text: string, expires: number }][]}
   */
  changed(at) {
    const changed = [...this.#rows].filter(([, row]) => row.isChanged)
    return [
      ...changed.map(([name, row]) => /** @type {const} */ ([name, row.pack(at)])),
      ...this.#answers,
    ].map(([name, row]) => [name, row])
  }
}

/**
 * @typedef {{ readonly db: Database, readonly table: string, readonly names: readonly string[] }} Wanted
 * @typedef {{ readonly texts: Map<string, string>, readonly at: number }} Read
 */

/**
 * Makes rows this transaction's own, and reads them. A row that is not there yet is made, since nothing else could be
 * locked; it has expired already, unless something is written to it. In order of their names, so that two transactions
 * never wait for each other.
 *
 * @param {Query} query
 * @param {Wanted} wanted
 * @returns {Promise<Read>}
 */
async function lockRows(query, { db, table, names }) {
  const rows = names.map((_, i) => `($${i + 1}, '', 0)`).join()
  const found = await query(
    `INSERT INTO ${table} (key, state, expires) VALUES ${rows}
      ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING key, state, ${db.now} AS at`,
    [...names],
  )
  return readOf(found)
}

/**
 * @param {Query} query
 * @param {Wanted} wanted
 * @returns {Promise<Read>}
 */
async function readRows(query, { db, table, names }) {
  const values = names.map((_, i) => `($${i + 1})`).join()
  const found = await query(
    `WITH wanted (key) AS (VALUES ${values})
      SELECT wanted.key AS key, t.state AS state, ${db.now} AS at FROM wanted LEFT JOIN ${table} t ON t.key = wanted.key`,
    [...names],
  )
  return readOf(found)
}

/**
 * @param {readonly { key: string, state: string | null, at: number | string }[]} found
 * @returns {Read}
 */
function readOf(found) {
  const texts = new Map(found.map(({ key, state }) => [key, state ?? '']))
  // pg returns a BIGINT as text. By the row that came last, all others were locked.
  return { texts, at: Math.max(...found.map(({ at }) => Number(at))) }
}

/**
 * @param {Query} query
 * @param {string} table
 * @param {readonly [name: string, row: { text: string, expires: number }][]} changed
 */
async function writeRows(query, table, changed) {
  if (changed.length === 0) return
  const values = changed.map((_, i) => `($${3 * i + 1}, $${3 * i + 2}, $${3 * i + 3})`).join()
  await query(
    `INSERT INTO ${table} (key, state, expires) VALUES ${values}
      ON CONFLICT (key) DO UPDATE SET state = excluded.state, expires = excluded.expires`,
    changed.flatMap(([name, { text, expires }]) => [name, text, Math.ceil(expires)]),
  )
}

/**
 * Deletes what nothing counts in any more, some rows at a time, behind decisions and never in their transactions.
 *
 * @param {Database} db
 * @param {string} table
 */
function makeSweeper(db, table) {
  let next = 0
  /** @type {Promise<void> | undefined} */
  let running
  let isStopped = false

  async function sweep() {
    for (let found = SWEPT_AT_ONCE; found === SWEPT_AT_ONCE && !isStopped;) {
      const expired = await db.transaction((query) =>
        query(`SELECT key FROM ${table} WHERE expires <= ${db.now} LIMIT ${SWEPT_AT_ONCE}`),
      )
      for (const { key } of expired) {
        // One a transaction, as in reset; and again by its end, since a request may have written it meanwhile.
        await db.transaction((query) =>
          query(`DELETE FROM ${table} WHERE key = $1 AND expires <= ${db.now}`, [key]),
        )
      }
      found = expired.length
    }
  }

  return {
    wake() {
      if (running || isStopped || performance.now() < next) return
      next = performance.now() + SWEPT_EVERY_MS
      // What fails now is deleted by the next one; that the database fails, the requests tell.
      const done = () => void (running = undefined)
      running = sweep().then(done, done)
    },
    async stop() {
      isStopped = true
      await running
    },
  }
}

/**
 * @param {readonly (StoreRequest | RefundRequest)[]} batch
 * @returns {string[]}
 */
function namesOf(batch) {
  const names = new Set()
  for (const { parts, id } of batch) {
    for (const { key } of parts) names.add(nameOf(key))
    if (id !== undefined) names.add(idName(id))
  }
  return [...names].toSorted()
}

/**
 * Keys as JSON: a text in PostgreSQL cannot hold every character.
 *
 * @param {string} key
 */
function nameOf(key) {
  return `k${JSON.stringify(key)}`
}

/** @param {string} id */
function idName(id) {
  return `i${id}`
}

/** @param {string} table */
function checkName(table) {
  // It becomes part of the SQL.
  if (!/^[a-z_][a-z0-9_]{0,50}$/i.test(table))
    throw new TypeError(`table: got ${JSON.stringify(table)}, expected letters, digits and _, at most 51`)
}

/** @param {{ readonly isOver: boolean } | undefined} call */
function needTime(call) {
  if (call?.isOver) throw new StoreError('the database answered after the deadline, and nothing was counted')
}
