/** Who a request counts against. */
export interface Subject {
  /**
   * A tenant, subscription, user or API key. Any text of any length; a number is read as its digits, up to 2^53 - 1.
   * Give longer ones as a string: JavaScript has rounded them, and two tenants would be one.
   */
  readonly id: string | number
  /** The name of its plan. Left out or unknown: the default plan. */
  readonly plan?: string | undefined
  /** `ip` for a client's address; `id` for a tenant, also one whose id is written like an address. Left out: by the id. */
  readonly kind?: 'id' | 'ip' | undefined
  /** What its limits are called by, where a request has several subjects: `user.minute`. Default: its plan's name. */
  readonly label?: string | undefined
}
