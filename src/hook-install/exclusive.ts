import { acquireLease, computeWorkspaceHash } from '../lease/index.ts'
import { newSessionId } from '../base/text/id.ts'

/** Does something to a file while no other stint does: reading, changing and writing must not mix. */
export async function exclusively<Result>(path: string, act: () => Result): Promise<Result> {
  const lease = await acquireLease({
    workspace: { path, key: computeWorkspaceHash(path) },
    sessionId: newSessionId(),
    purpose: 'stint hook',
    ttlMs: 60_000,
    wait: 30_000,
  })
  try {
    return act()
  } finally {
    await lease.release()
  }
}
