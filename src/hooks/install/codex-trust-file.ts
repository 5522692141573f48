import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { isNumber, isString } from '../../base/text/fields.ts'
import { agentHome } from './agents.ts'
import { objectOr, parseToml, readSettingsJson } from './parse-settings.ts'
import { decode, readSettingsFile, writeSettingsFile } from './settings-file.ts'

/** What Codex's files say about its trust in stint's hooks; `unknown` if only Codex itself can tell. */
export type WrittenTrust = 'trusted' | 'untrusted' | 'unknown'

/**
 * Reads from `config.toml` whether Codex trusts the hooks in the settings file at `path`, without starting
 * Codex. It notes a hash for each hook that its user trusts. A hash that differs from ours proves nothing:
 * the hook may have changed, or this version of Codex computes it in another way.
 */
export function readCodexTrust(path: string): WrittenTrust {
  const noted = ifPossible(() => notedHashes()) ?? {}
  const hooks = ifPossible(() => ownHooks(path)) ?? []
  const hashes = hooks.map(({ key }) => noted[key] ?? noted[realKey(path, key)])
  if (hooks.length === 0) return 'unknown'
  if (hashes.some((hash) => hash === undefined)) return 'untrusted'
  return hooks.every(({ hash }, index) => hash === hashes[index]) ? 'trusted' : 'unknown'
}

/**
 * Removes what Codex has noted about stint's hooks in the settings file at `path`. Call it before the hooks
 * are removed: Codex leaves such notes behind. Only tables with nothing but Codex's own two settings go.
 */
export function forgetCodexTrust(path: string): void {
  const file = readSettingsFile(configPath())
  if (file.bytes === undefined) return
  const text = decode(file.bytes)
  const keys = new Set(ownHooks(path).flatMap(({ key }) => [key, realKey(path, key)]))
  const note =
    /^\[hooks\.state\.("(?:[^"\\\n]|\\.)*")\]\r?\n((?:(?:trusted_hash|enabled) = .*\r?\n?|\r?\n)*)/gm
  const rest = text.replaceAll(note, (table, key: string) => (keys.has(keyOf(key)) ? '' : table))
  if (rest !== text) writeSettingsFile(file, Buffer.from(rest), 0o600)
}

const keyOf = (quoted: string): string => ifPossible(() => String(JSON.parse(quoted))) ?? quoted

const configPath = (): string => join(agentHome('codex'), 'config.toml')

/** The hashes in `[hooks.state."FILE:EVENT:GROUP:HANDLER"]`, by that key. */
function notedHashes(): Record<string, string> {
  const { bytes } = readSettingsFile(configPath())
  const state = objectOr(objectOr(parseToml(decode(bytes, '')).hooks).state)
  const entries = Object.entries(state).map(([key, entry]) => [key, objectOr(entry).trusted_hash])
  return Object.fromEntries(entries.filter(([, hash]) => isString(hash))) as Record<string, string>
}

const realKey = (path: string, key: string): string =>
  key.replace(path, ifPossible(() => realpathSync.native(path)) ?? path)

/** The events whose groups Codex selects by their matcher. For the others it ignores a matcher. */
const eventsWithMatcher = new Set([
  'permission_request',
  'post_compact',
  'post_tool_use',
  'pre_compact',
  'pre_tool_use',
  'session_start',
])

/** Codex gives a hook without a time limit this many seconds, and one for an interruption at most 3. */
const defaultTimeout = 600
const longestTimeouts: Readonly<Record<string, number>> = { interrupt: 3 }

/** The hooks of stint in a settings file of Codex, each with its key and the hash of Codex 0.166.0. */
function ownHooks(path: string): { key: string; hash: string }[] {
  const events = Object.entries(objectOr(readSettingsJson(path).hooks))
  return events.flatMap(([name, groups]) => {
    const event = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
    return arrayOr(groups).flatMap((group, groupIndex) => {
      const { matcher, hooks } = objectOr(group)
      return arrayOr(hooks).flatMap((handler, handlerIndex) => {
        const { command, timeout } = objectOr(handler)
        if (!isString(command) || !command.includes('stint-hook')) return []
        const identity = {
          event_name: event,
          hooks: [
            {
              async: false,
              command,
              timeout: Math.min(
                Math.max(1, isNumber(timeout) ? timeout : defaultTimeout),
                longestTimeouts[event] ?? Number.POSITIVE_INFINITY,
              ),
              type: 'command',
            },
          ],
          // The keys of an identity are in alphabetical order.
          ...(eventsWithMatcher.has(event) && isString(matcher) && { matcher }),
        }
        const hash = createHash('sha256').update(JSON.stringify(identity)).digest('hex')
        return [{ key: `${path}:${event}:${groupIndex}:${handlerIndex}`, hash: `sha256:${hash}` }]
      })
    })
  })
}

const arrayOr = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
