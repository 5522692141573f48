import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'

/**
 * Copies a tree with its links, modes and times. `cpSync` cannot copy a lock, whose links are long and lead
 * nowhere: it aborts Node 22 and 24.
 */
export const copyTree = (from: string, to: string): void =>
  void execFileSync('cp', ['-a', '--', from, to], { stdio: 'pipe' })

/** Copies the built programs without their code caches, which other tests write at the same time. */
export const copyPrograms = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, filter: (path) => !path.includes('.cache') })
