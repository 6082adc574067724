// What Prometheus reads when it scrapes.

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The samples of a text in the format of Prometheus. */
export function samplesIn(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => /^[a-z]/.test(line))
    .map((line) => {
      const [, name = '', inner = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      const labels = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, given]) => [key, given])
      return { name, labels: Object.fromEntries(labels), value: Number(value) }
    })
}
