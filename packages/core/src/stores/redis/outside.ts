import { OUTSIDE } from './wire/answers.js'
import { StoreError } from '../../base/errors.js'

/**
 * Some requests could not be decided because the calendar they came with does not include Redis's time. Sends these
 * again, now that the reply has told that time. The first attempt changed nothing.
 */
export function againIfOutside<Request, A>(
  batch: readonly Request[],
  answers: readonly (A | typeof OUTSIDE)[],
  ask: (requests: readonly Request[]) => Promise<readonly (A | typeof OUTSIDE)[]>,
): (A | StoreError)[] | Promise<(A | StoreError)[]> {
  const outside = batch.filter((_, i) => answers[i] === OUTSIDE)
  if (outside.length === 0) return answers as A[]
  return ask(outside).then((again) => {
    let next = 0
    return answers.map((answer) => {
      const given = answer === OUTSIDE ? (again[next++] as A | typeof OUTSIDE) : answer
      return given === OUTSIDE
        ? new StoreError("Redis's clock jumped while it was asked: let NTP keep the clock of its server")
        : given
    })
  })
}
