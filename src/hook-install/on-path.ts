import { statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** The first program of this name that PATH leads to. */
export function onPath(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const candidates = (env.PATH ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((directory) => join(directory, name))
  return candidates.find((path) => {
    try {
      const stat = statSync(path, { throwIfNoEntry: false })
      return stat !== undefined && stat.isFile() && (stat.mode & 0o111) !== 0
    } catch {
      return false
    }
  })
}
