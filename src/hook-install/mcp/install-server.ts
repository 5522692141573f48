import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import type { Change } from '../change.ts'
import { findOnPath, ownProgram } from '../own-program.ts'
import { installPart, type SettingsPart, uninstallPart } from '../settings/change-settings.ts'
import { partsOf, readRecord } from '../settings/install-record.ts'
import { readSettingsFile } from '../settings/settings-file.ts'
import { decode, unreadableBy } from '../settings/settings-text.ts'
import { readStart } from './server-entry.ts'
import { mcpHost, type ServerTarget } from './server-targets.ts'

/** Makes an agent start stint's MCP server, or updates how it does. */
export async function installServer(
  { agent, place, path }: ServerTarget,
  { dryRun, warn }: { dryRun: boolean; warn(message: string): void },
): Promise<Change> {
  const { program, warning } = ownProgram('stint', place === 'project')
  if (warning !== undefined) warn(warning)
  const part = (): SettingsPart => mcpHost(agent).part(program)
  const change = await installPart({ agent, place, path }, { part, dryRun })
  const problem = agent === 'codex' ? undefined : unreadableBy(agent, change.after)
  if (problem !== undefined) warn(`${path}: ${problem}`)
  return change
}

/** Removes stint's server from the settings of an agent, and nothing else. */
export const uninstallServer = (
  { agent, place, path, keep }: ServerTarget,
  dryRun: boolean,
): Promise<Change> => uninstallPart({ agent, place, path }, { part: mcpHost(agent).part([]), dryRun, keep })

/** The server of stint in one settings file. */
export interface ServerInstallation extends Pick<ServerTarget, 'agent' | 'place' | 'path'> {
  /** `lost`: it was installed, but is gone. `foreign`: the name starts another program. */
  state: 'installed' | 'absent' | 'lost' | 'foreign' | 'broken' | 'unreadable'
  /** A description of what is wrong. */
  problem?: string
  /** The words that start it. */
  command: string[]
}

/** Reads how an agent starts the server; changes nothing. */
export function inspectServer({ agent, place, path }: ServerTarget): ServerInstallation {
  const found = (state: ServerInstallation['state'], problem?: string, command: string[] = []) => ({
    agent,
    place,
    path,
    state,
    ...(problem !== undefined && { problem }),
    command,
  })
  try {
    const { real, bytes } = readSettingsFile(path)
    const { part, entryIn } = mcpHost(agent)
    const { word, emptyText } = part([])
    const entry = bytes?.includes(word) ? entryIn(decode(bytes, emptyText).text) : undefined
    if (entry === undefined)
      return partsOf(readRecord(real)).includes('mcp')
        ? found('lost', 'the server that was installed here is gone: another program has rewritten the file')
        : found('absent')
    const start = readStart(entry)
    if (start === undefined) return found('foreign', 'the server named stint is not one that stint installed')
    const command = [start.command, ...start.args]
    const missing = command.slice(0, command.indexOf('mcp')).find(isMissing)
    return missing === undefined
      ? found('installed', undefined, command)
      : found('broken', `${missing} is missing: \`stint mcp install ${agent}\` puts it right`, command)
  } catch (error) {
    if (!(error instanceof StintError)) throw error
    return found('unreadable', error.message)
  }
}

const isMissing = (word: string): boolean =>
  isAbsolute(word) ? !existsSync(word) : findOnPath(word) === undefined
