/** What the store asks of Memcached. Keys are plain ASCII of at most 250 characters, times to live as Memcached reads them. */
export type Command =
  /** Adds units to a counter; if there is none, makes it with the value `initial`. Replies with its value. */
  | Take
  /** Takes units from a counter. Replies with its value; undefined if there is none. */
  | { readonly kind: 'give'; readonly key: string; readonly units: number }
  /** Replies with the text; undefined if there is none. */
  | { readonly kind: 'read'; readonly key: string }
  /** As `read`, with the token that `swap` needs. */
  | { readonly kind: 'look'; readonly key: string }
  /** Writes a text in place of the one that was looked at. Replies with whether it did: nobody has written since. */
  | Swap
  /** Writes a text unless there is one. Replies with whether it did. */
  | { readonly kind: 'add'; readonly key: string; readonly text: string; readonly ttl: number }
  /** Writes a text. */
  | { readonly kind: 'set'; readonly key: string; readonly text: string; readonly ttl: number }

export interface Take {
  readonly kind: 'take'
  readonly key: string
  readonly units: number
  readonly initial: number
  readonly ttl: number
}

/** A text, and the token of its version. */
export interface Looked {
  readonly text: string
  readonly token: string
}

export interface Swap {
  readonly kind: 'swap'
  readonly key: string
  readonly text: string
  readonly ttl: number
  readonly token: string
}

/** A StoreError is the answer to this command alone; the others got theirs. */
export type Reply = number | string | boolean | Looked | undefined | Error

/** A way to Memcached. All calls reject with a StoreError. */
export interface MemcachedPort {
  /** Whether the connections are the store's, so that it may send what no request waits for. */
  readonly isOwn: boolean
  /** The number of servers that fail one by one, if the port knows which key is on which. */
  readonly shards: number
  /** The same for the same servers: stores with it and the same prefix write the same keys. */
  readonly servers: object | string
  /** Sends commands of one shard together. Replies come in their order. */
  run(commands: readonly Command[], shard: number): Promise<readonly Reply[]>
  /** The clock of a server in whole seconds since 1970; undefined if it does not tell. */
  serverTime(shard: number): Promise<number | undefined>
  /** Closes what the port opened itself. */
  close?(): Promise<void>
}
