/** Who a request counts against. */
export interface Subject {
  /**
   * A tenant, subscription, user or API key. Any text of any length, or a number up to 2^53 - 1, which is read as its
   * digits. Give longer numbers as a string: JavaScript rounds them, and two tenants would become one.
   */
  readonly id: string | number
  /** The name of its plan. Left out or unknown: the default plan. */
  readonly plan?: string | undefined
  /** `ip` for a client's address. Such an id never collides with one of kind `id` that looks the same. */
  readonly kind?: 'id' | 'ip' | undefined
  /** Begins the names of its limits when a request has several subjects: `user.minute`. Default: its plan's name. */
  readonly label?: string | undefined
}
