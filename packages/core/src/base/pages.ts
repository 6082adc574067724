/** The project on the web: what is installed has no docs, and a message is read far from the source. */
const SOURCES = 'https://github.com/tollgate-js/tollgate/blob/main'

/** Where all options are listed. */
export const OPTIONS_PAGE = `${SOURCES}/README.md#options`

/** The address of a page of the docs, such as `redis.md`. */
export function pageOf(name: string): string {
  return `${SOURCES}/docs/${name}`
}
