/** A command to Memcached. Keys are plain ASCII of at most 250 characters; times to live are as Memcached reads them. */
export type Command =
  /** Adds units to a counter, or makes it with the value `initial` if there is none. Replies with its value. */
  | Take
  /** Takes units from a counter. Replies with its value; undefined if there is none. */
  | { readonly kind: 'give'; readonly key: string; readonly units: number }
  /** Replies with the text; undefined if there is none. */
  | { readonly kind: 'read'; readonly key: string }
  /** Like `read`, with the token that `swap` needs. */
  | { readonly kind: 'look'; readonly key: string }
  /** Replaces the text that `look` read. Replies with whether it did, which is so if nothing was written since. */
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

/** A text, and its version's token. */
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

/** A StoreError answers only its own command: the others have their own replies. */
export type Reply = number | string | boolean | Looked | undefined | Error

/** A way to reach Memcached. All calls reject with a StoreError. */
export interface MemcachedPort {
  /** Whether the connections belong to the store, so that it may send what no request waits for. */
  readonly isOwn: boolean
  /** The number of servers, if the port knows which key is on which. Each can fail alone. */
  readonly shards: number
  /** Identifies the servers: stores with equal `servers` and prefix write the same keys. */
  readonly servers: object | string
  /** Sends commands for one shard together. Replies come in the same order. */
  run(commands: readonly Command[], shard: number): Promise<readonly Reply[]>
  /** A server's clock in whole seconds since 1970; undefined if the server does not say. */
  serverTime(shard: number): Promise<number | undefined>
  /** Closes what the port opened itself. */
  close?(): Promise<void>
}
