import { parse, TomlError } from 'smol-toml'
import { type JsonObject, objectOr } from '../json/parse.ts'

/** The hook settings in Codex's config.toml, or the reason why it is invalid. */
export type CodexConfig =
  | { invalid: string }
  | {
      /** Hooks are switched off as a whole. */
      off: boolean
      /** The recorded state of the hook before tool calls; an `unknown` one waits for the user's trust. */
      trust: 'trusted' | 'disabled' | 'unknown'
    }

/** Reads config.toml; `paths` are the names of the settings file that contains the hook. */
export function readCodexConfig(toml: string, paths: readonly string[]): CodexConfig {
  let config: JsonObject
  try {
    config = parse(toml)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.split('\n')
    return { invalid: `line ${error.line}, column ${error.column}: ${reason}` }
  }
  const { hooks, codex_hooks } = objectOr(config.features)
  // `codex_hooks` is the name that earlier versions of Codex use.
  return { off: hooks === false || codex_hooks === false, trust: trustIn(config, paths) }
}

/** Codex keeps `[hooks.state]` by file, event, group and handler: `"/…/hooks.json:pre_tool_use:0:0"`. */
function trustIn(config: JsonObject, paths: readonly string[]): 'trusted' | 'disabled' | 'unknown' {
  const states = Object.entries(objectOr(objectOr(config.hooks).state))
  const found = states.find(([key]) => paths.some((path) => key.startsWith(`${path}:pre_tool_use:`)))
  if (found === undefined) return 'unknown'
  return objectOr(found[1]).enabled === false ? 'disabled' : 'trusted'
}
