// Summaries of many values.

/** The value below which this share (0 to 1) of the values lies. */
export function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return low + (high - low) * (at - Math.floor(at))
}

export function median(values) {
  return quantile(values, 0.5)
}

/** Each value divided by the reference's of the same round: changes of the machine between rounds cancel out. */
export function paired(values, reference) {
  return values.map((value, i) => value / reference[i])
}

/** `1.52 [1.40-1.61]`: median and quartiles. */
export function spread(values, digits = 2) {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(values, share).toFixed(digits))
  return `${middle} [${low}-${high}]`
}
