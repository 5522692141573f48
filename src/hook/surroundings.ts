import { type Book, change } from '../lease/book.ts'
import { type Claims, parseClaims } from '../lease/claim.ts'
import { type Register, runSync } from '../lease/register.ts'
import type { Decision } from '../lease/rules.ts'
import type { Witness } from '../lease/staleness.ts'
import { isWorkspaceKey, type Workspace } from '../lease/workspace.ts'
import type { Identity, Liveness } from '../primitives/liveness.ts'

/** Where an event happens. */
export interface Surroundings {
  register: Register
  /** The process that the session lives by. */
  agent: Identity | null
  env: NodeJS.ProcessEnv
  liveness?: (process: Identity) => Liveness
}

export const bookOf = ({ path, key }: Workspace, { register, liveness }: Surroundings): Book => ({
  register,
  key,
  workspace: path,
  liveness,
})

/** The books of all workspaces whose claims name this, such as a session: an agent may have gone from one workspace to another. */
export function booksNaming(text: string, { register, liveness }: Surroundings): Book[] {
  return runSync(register, register.keys())
    .filter(isWorkspaceKey)
    .flatMap((key) => {
      const held = runSync(register, register.read(key)).text
      const claims = held?.includes(text) ? parseClaims(held, '') : undefined
      return claims === undefined ? [] : [{ register, key, workspace: claims.workspace, liveness }]
    })
}

/** Decides and writes, at once. */
export const changeNow = <Answer>(
  book: Book,
  decide: (claims: Claims, witness: Witness, nextFence: number) => Decision<Answer>,
) => runSync(book.register, change(book, decide))
