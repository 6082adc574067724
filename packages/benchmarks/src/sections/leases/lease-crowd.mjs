import { startChild } from '../../kit/children.mjs'

/** Processes that put a load on one Redis together. */
export async function leaseCrowd(url, most) {
  const children = Array.from({ length: most }, () => startChild('sections/leases/lease-worker.mjs', [url]))
  await Promise.all(children.map((child) => child.ask()))
  return {
    children,
    /** The first `count` of them share the rate. @returns what all did: `{ decisions, leased, perSecond }` */
    load: async ({ rate, ...load }, count) => {
      const message = { ...load, ...(rate !== undefined && { rate: rate / count }) }
      const all = await Promise.all(children.slice(0, count).map((child) => child.ask(message)))
      const sum = (figure) => all.reduce((total, one) => total + one[figure], 0)
      const seconds = Math.max(...all.map(({ wallUs }) => wallUs)) / 1e6
      return { decisions: sum('decisions'), leased: sum('leased'), perSecond: sum('decisions') / seconds }
    },
    stop: () => {
      for (const child of children) child.stop()
    },
  }
}
