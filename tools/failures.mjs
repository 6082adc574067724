// What is said of a test file that failed, in one line for each of its tests.
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/** A line for each failed test of a file; one for the file if it could not be run. */
export function failuresOf({ name, message, assertionResults }) {
  const failed = assertionResults.filter(({ status }) => status === 'failed')
  const path = relative('packages', name)
  if (failed.length === 0) return [`${path}: ${oneLine(message)}`]
  return failed.map(
    ({ fullName, failureMessages }) => `${path}: ${fullName}: ${oneLine(failureMessages.join(' '))}`,
  )
}

/** The beginning of a message, without colours. */
function oneLine(message) {
  return stripVTControlCharacters(message).replace(/\s+/g, ' ').slice(0, 500)
}
