import { appendFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Identity, identify, parseIdentity } from '../primitives/liveness.ts'
import { readSmallFile } from '../primitives/small-file.ts'
import { metaDirectory, type Owner } from './owner.ts'

/** `.stint/children.pids`: one line a child of the run, `pid start-time program`. */
export const childrenPath = (scratch: string): string => join(scratch, metaDirectory, 'children.pids')

export function recordChild(scratch: string, pid: number, program: string): Identity | undefined {
  const child = identify(pid)
  const name = basename(program).replace(/\s+/g, ' ')
  appendFileSync(childrenPath(scratch), `${pid} ${child?.started ?? '-'} ${name}\n`, { mode: 0o600 })
  return child
}

/** The recorded children as processes of their owner's machine. A torn last line names nobody. */
export function readChildren(scratch: string, owner: Owner): Identity[] {
  const lines = (readSmallFile(childrenPath(scratch)) ?? '').split('\n').slice(0, -1)
  return lines.flatMap((line) => {
    const [pid, started] = line.split(' ', 2)
    const child = { ...owner.identity, pid: Number(pid), started: started === '-' ? null : Number(started) }
    return parseIdentity(child) ?? []
  })
}
