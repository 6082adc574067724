// What of a run is published: no table that is too noisy to judge.
import { controlOf } from './figures.mjs'
import { LAYOUT } from '../layouts/layout.mjs'

/** @returns {string[]} the grids of a section that are too noisy to judge */
export function noisyIn(name, grids) {
  return Object.keys(noiseOf(name, grids))
}

/** By grid: the ratio of the reference to itself, where that is too noisy. */
function noiseOf(name, grids) {
  const controls = (LAYOUT[name]?.tables ?? []).map((layout) => [
    layout.grid,
    controlOf({ sections: { [name]: { grids } } }, name, layout),
  ])
  return Object.fromEntries(controls.filter(([, control]) => control?.isNoisy))
}

/**
 * @returns the run without the grids that are too noisy to judge. Sections that had some tell by `noise` what the reference
 *   was against itself, by grid.
 */
export function publishedOf(run) {
  const sections = Object.entries(run.sections).map(([name, section]) => {
    if (!section.grids) return [name, section]
    const noise = noiseOf(name, section.grids)
    const quiet = Object.entries(section.grids).filter(([grid]) => !noise[grid])
    return [name, { ...section, grids: Object.fromEntries(quiet), noise }]
  })
  return { ...run, sections: Object.fromEntries(sections) }
}
