/** Whether this is the deep run (`npm run test:deep`), which tries more of everything than `npm test`. */
export const isDeep = process.env['TOLLGATE_DEEP'] === '1'

/**
 * How many random cases a test tries.
 *
 * @param few  in `npm test`, where each law is tried on each road in seconds
 * @param many in the deep run
 */
export function cases(few: number, many: number): number {
  return isDeep ? many : few
}
