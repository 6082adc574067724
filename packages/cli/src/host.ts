/** Where the answer to a question comes from. */
export interface InputStream extends NodeJS.ReadableStream {
  readonly isTTY?: boolean | undefined
}

/** Where text goes. */
export interface OutputStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean | undefined
  /** The width of the terminal, in characters. */
  readonly columns?: number | undefined
  /** Its height, in lines. */
  readonly rows?: number | undefined
}

/** What a command line gets from its process. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder in which relative paths begin. */
  readonly cwd: string
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  /** Calls `stop` once when the operator presses Ctrl-C, instead of ending the process. Returns what undoes that. */
  onInterrupt(stop: () => void): () => void
}
