import { stintHome } from '../../base/fs/home.ts'
import { noteText, takeNotes, type WorkspaceClaims } from '../../lease/index.ts'

/** Shows the notes that were left for a session which has just got a claim. Servers have no notes. */
export function showNotes(claims: WorkspaceClaims, sessionId: string, warn: (message: string) => void): void {
  if (claims.register.performSync === undefined) return
  const now = Date.now()
  for (const note of takeNotes(stintHome(), claims.key, sessionId, now)) warn(noteText(note, now))
}
