// The tenants in SQLite, in memory. A file or another database is asked in the same way.
import initSqlJs from 'sql.js'

export class Tenants {
  #db

  static async open() {
    const tenants = new Tenants()
    const { Database } = await initSqlJs()
    tenants.#db = new Database()
    tenants.#db.run('CREATE TABLE tenants (id TEXT PRIMARY KEY, plan TEXT NOT NULL)')
    tenants.#db.run("INSERT INTO tenants VALUES ('acme', 'free'), ('globex', 'pro'), ('initech', 'pro')")
    return tenants
  }

  /** Undefined if there is no such tenant. */
  planOf(id) {
    const [rows] = this.#db.exec('SELECT plan FROM tenants WHERE id = ?', [id])
    return rows?.values[0][0]
  }

  /** Returns whether there is such a tenant. */
  upgrade(id = '') {
    this.#db.run("UPDATE tenants SET plan = 'pro' WHERE id = ?", [id])
    return this.#db.getRowsModified() > 0
  }
}
