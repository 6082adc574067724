/** The colour that a custom property stands for now, as a canvas can use it. */
export function colourOf(property: string, near: Element): string {
  const probe = document.createElement('i')
  probe.style.color = `var(${property})`
  near.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
