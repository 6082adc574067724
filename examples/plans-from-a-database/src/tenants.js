// A real SQLite, in memory: a file, or PostgreSQL, would be asked in the same way.
import initSqlJs from 'sql.js'

export class Tenants {
  #sqlite
  #db
  /** What the file of a database would hold while nobody has it open. */
  #saved

  static async open() {
    const tenants = new Tenants()
    tenants.#sqlite = await initSqlJs()
    tenants.#db = new tenants.#sqlite.Database()
    tenants.#db.run('CREATE TABLE tenants (id TEXT PRIMARY KEY, plan TEXT NOT NULL)')
    tenants.#db.run("INSERT INTO tenants VALUES ('acme', 'free'), ('globex', 'pro'), ('initech', 'pro')")
    return tenants
  }

  /** Undefined when there is no such tenant; throws while the database is down. */
  planOf(id) {
    const [rows] = this.#ask((db) => db.exec('SELECT plan FROM tenants WHERE id = ?', [id]))
    return rows?.values[0][0]
  }

  /** Whether there is such a tenant. */
  upgrade(id = '') {
    this.#ask((db) => db.run("UPDATE tenants SET plan = 'pro' WHERE id = ?", [id]))
    return this.#db.getRowsModified() > 0
  }

  /** It throws strings where others throw errors. */
  #ask(question) {
    try {
      return question(this.#db)
    } catch (thrown) {
      throw new Error(String(thrown))
    }
  }

  close() {
    this.#saved ??= this.#db.export()
    this.#db.close()
    return false
  }

  reopen() {
    if (this.#saved) this.#db = new this.#sqlite.Database(this.#saved)
    this.#saved = undefined
    return true
  }
}
