import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { SessionAnswer } from '../src/answers.ts'

export const Session = createContext<SessionAnswer | null>(null)

/** null until the server has said who looks. */
export function useSession(): SessionAnswer | null {
  return useContext(Session)
}
