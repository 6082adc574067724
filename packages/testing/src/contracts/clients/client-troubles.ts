import type { StoreError } from '@tollgate/core'
import type { Deployment } from '../../redis/deployment.ts'

export interface ClientTrouble {
  begin(deployment: Deployment): Promise<void>
  end(deployment: Deployment): Promise<void>
  /** One of these. */
  readonly reasons: readonly StoreError['reason'][]
  /** In a warning that says what is wrong. */
  readonly words: RegExp
}

/** What an operator of Redis can change while clients are connected. */
export const CLIENT_TROUBLES: readonly (readonly [what: string, ClientTrouble])[] = [
  [
    'another password',
    {
      begin: ({ setPassword }) => setPassword('second'),
      end: ({ setPassword }) => setPassword('first'),
      reasons: ['not-permitted'],
      words: /Redis (refused the username or password|asks for a password)/,
    },
  ],
  [
    'a user that is switched off',
    {
      // Operators stay connected.
      begin: ({ order }) => order('ACL', 'SETUSER', 'default', 'off'),
      end: ({ order }) => order('ACL', 'SETUSER', 'default', 'on'),
      reasons: ['not-permitted'],
      words: /Redis (refused the username or password|asks for a password)/,
    },
  ],
  [
    'a user that loses a command',
    {
      begin: ({ order }) => order('ACL', 'SETUSER', 'default', '-evalsha'),
      end: ({ order }) => order('ACL', 'SETUSER', 'default', '+evalsha'),
      reasons: ['not-permitted'],
      words: /Permit all that Tollgate needs: ACL SETUSER/,
    },
  ],
  [
    'as many clients as Redis takes',
    {
      begin: ({ order }) => order('CONFIG', 'SET', 'maxclients', 1),
      end: ({ order }) => order('CONFIG', 'SET', 'maxclients', 10_000),
      // Some clients write again before they read why they were refused: then it is known only that they were.
      reasons: ['busy', 'unreachable'],
      words: /maxclients/,
    },
  ],
]
