import { type Book, change, type Decide } from '../lease/workspace-claims.ts'
import type { Claim } from '../lease/claim.ts'
import { parseClaims } from '../lease/claims-text.ts'
import { type Register, runSync } from '../lease/register.ts'
import { isWorkspaceKey, type Workspace } from '../lease/workspace.ts'
import type { Identity } from '../base/process/liveness.ts'

/** Where an event happens. */
export interface Surroundings {
  register: Register
  /** The process that the session lives by. */
  agent: Identity | null
  env: NodeJS.ProcessEnv
}

export const bookOf = ({ path, key }: Workspace, { register }: Surroundings): Book => ({
  register,
  key,
  workspace: path,
})

/**
 * Does something to the book of every workspace that has such a claim: an agent may have gone from one workspace to another. A book that fails
 * does not keep the others from it; the first error is thrown at the end.
 */
export function forEachBook(
  isMeant: (claim: Claim) => boolean,
  { register }: Surroundings,
  act: (book: Book) => void,
): void {
  const errors: unknown[] = []
  for (const key of runSync(register, register.keys()).filter(isWorkspaceKey)) {
    try {
      const { text } = runSync(register, register.read(key))
      const found = text === undefined ? undefined : parseClaims(text, '')
      if (found?.claims.some(isMeant)) act({ register, key, workspace: found.workspace })
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

export const isOfSession =
  (sessionId: string) =>
  ({ session_id }: Claim): boolean =>
    session_id === sessionId

/** Decides and writes, at once. */
export const changeNow = <Answer>(book: Book, decide: Decide<Answer>) =>
  runSync(book.register, change(book, decide))
