/** Who a request counts against. */
export interface Subject {
  /**
   * A tenant, subscription, user or API key. Any text of any length; a number or a bigint is read as its digits, and a
   * decision has the text of a bigint. Give numbers beyond 2^53 - 1 as a string or bigint: JavaScript has rounded them,
   * and two tenants would be one.
   */
  readonly id: string | number | bigint
  /** The name of its plan. Left out or unknown: the default plan. */
  readonly plan?: string | undefined
  /** `ip` for a client's address, which is never confused with an id that looks the same. */
  readonly kind?: 'id' | 'ip' | undefined
  /** What its limits are called by, where a request has several subjects: `user.minute`. Default: its plan's name. */
  readonly label?: string | undefined
}
