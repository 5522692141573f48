import type { PostgresPool } from './pool.ts'

/** Looks at a key's epoch again and again, and tells of each change; returns how to stop. Keeps no process alive. */
export function pollEpoch(
  pool: PostgresPool,
  key: string,
  everyMs: number,
  onChange: () => void,
): () => void {
  let last: unknown
  let looking = false
  const look = async (): Promise<void> => {
    // A server that is slow to answer is not asked twice.
    if (looking) return
    looking = true
    try {
      const { rows } = await pool.query('SELECT epoch FROM stint.register WHERE key = $1', [key])
      const epoch = String(rows[0]?.epoch ?? 0)
      if (last !== undefined && last !== epoch) onChange()
      last = epoch
    } catch {
      // Only ever a hint: whoever holds a lease learns by its refresh what is wrong.
    } finally {
      looking = false
    }
  }
  void look()
  const timer = setInterval(() => void look(), everyMs).unref()
  return () => clearInterval(timer)
}
