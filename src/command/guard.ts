import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Identity } from '../base/process/liveness.ts'
import { escapeMountPath } from '../base/fs/mounts.ts'
import { guardMark } from '../base/process/process-tree.ts'
import type { Scratch } from '../scratch/index.ts'
import { guardScript } from './guard-script.ts'

/** A process that outlives this one by a moment, and cleans up whatever this one could not. */
export interface Guard {
  /** False once it has ended or could not be started: then nobody empties the trash after us. */
  readonly alive: boolean
  /** Ends this child, and what descends from it, if we die. */
  watch(child: Identity): void
  /** Leave the scratch where it is. */
  keepScratch(): void
  /** Everything is ended and moved to the trash: only the trash is left to empty. */
  allEnded(): void
}

/** Starts the guard, in a session of its own and holding nothing of ours but one pipe. */
export function startGuard(scratch: Scratch, mark: string, onFailure: () => void): Guard | undefined {
  if (process.platform === 'win32') return undefined
  const { path, root, requestId } = scratch
  const trashed = join(root.trash, requestId)
  const args = [
    '-c',
    guardScript,
    'stint-guard',
    path,
    trashed,
    mark,
    escapeMountPath(path),
    join(root.tracked, requestId),
  ]
  const guard = spawn('/bin/sh', args, {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: `/usr/bin:/bin:${process.env.PATH ?? ''}`, [guardMark]: requestId },
  })
  let alive = true
  guard.on('error', () => {
    alive = false
    onFailure()
  })
  guard.on('exit', () => (alive = false))
  guard.unref()
  const tell = teller(guard)
  return {
    get alive() {
      return alive
    },
    watch: ({ pid, started }) => tell(`child ${pid} ${started ?? '-'}`),
    keepScratch: () => tell('keep'),
    allEnded: () => tell('clean'),
  }
}

function teller({ stdin }: ChildProcess): (line: string) => void {
  // Somebody may have ended the guard: then there is nobody to tell.
  stdin?.on('error', () => {})
  // The pipe must not keep us alive; its end is what the guard waits for.
  ;(stdin as unknown as { unref?: () => void })?.unref?.()
  return (line) => stdin?.write(`${line}\n`)
}
