/** How long a store keeps the slots of a process after its last message, in µs. */
export const SLOTS_KEPT_US = 14_000_000
