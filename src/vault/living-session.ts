import { readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { listIfReadable } from '../base/fs/exists.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { ancestorsOf, pidExists } from '../base/process/platform.ts'
import { readProcessTable } from '../base/process/process-table.ts'
import { type FileAgent, agentRoot, type VaultAgent } from './places.ts'

/**
 * A process in which this conversation is open: it names the id in its arguments, has the id in a variable,
 * as the commands of an agent do, has one of the files open, or Claude Code has noted it for that process.
 */
export function livingProcess(agent: VaultAgent, id: string, paths: readonly string[]): number | undefined {
  const own = new Set([...ancestorsOf(process.pid)].map(({ pid }) => pid))
  const table = readProcessTable()
  const isOpenIn = (pid: number): boolean =>
    listIfReadable(`/proc/${pid}/fd`).some((fd) =>
      paths.includes(ifPossible(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ''),
    )
  const inTable = table.processes.find(
    ({ pid }) =>
      table.environmentOf(pid).includes(`_ID=${id}\0`) ||
      (!own.has(pid) && (table.commandOf(pid).includes(id) || isOpenIn(pid))),
  )
  return inTable?.pid ?? (agent === 'opencode' ? undefined : notedProcess(agent, id))
}

/** Claude Code keeps a file with the id of its session for each of its processes. */
function notedProcess(agent: FileAgent, id: string): number | undefined {
  const directory = join(agentRoot(agent), 'sessions')
  const names = listIfReadable(directory).filter((name) => /^\d+\.json$/.test(name))
  const pids = names.map((name) => Number.parseInt(name, 10)).filter(pidExists)
  return pids.find((pid) => readSmallFile(join(directory, `${pid}.json`))?.includes(`"${id}"`))
}
