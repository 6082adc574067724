/** Who a request counts against. */
export interface Subject {
  /**
   * A tenant, subscription, user or API key. Any text of any length; a number or a bigint is read as its digits, and a
   * decision has the text of a bigint. Give numbers beyond 2^53 - 1 as a string or bigint: JavaScript has rounded them,
   * and two tenants would be one.
   */
  readonly id: string | number | bigint
  /** The name of its plan. Left out or unknown: the default plan. */
  readonly plan?: AnyPlan | undefined
  /** `ip` for a client's address, which is never confused with an id that looks the same. */
  readonly kind?: 'id' | 'ip' | undefined
  /** What its limits are called by, where a request has several subjects: `user.minute`. Default: its plan's name. */
  readonly label?: string | undefined
}

/** Any text. Written so, the names of plans beside it stay what an editor offers. */
export type AnyPlan = string & {}

/** A subject or an id, where plans of these names are known: they are offered, and any other is taken. */
export type SubjectOf<Plans extends string = string> =
  | Subject
  | (Omit<Subject, 'plan'> & { readonly plan?: Plans | undefined })
  | string
