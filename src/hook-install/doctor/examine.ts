import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Installation } from '../inspect.ts'
import { onPath } from '../on-path.ts'
import { readSettings } from '../settings/settings-file.ts'
import { foreignFile } from './foreign.ts'
import { switchesOf } from './switches.ts'

export interface Problem {
  problem: string
  /** What to do about it. */
  fix: string
}

export interface Finding {
  /** It does not work. */
  problems: Problem[]
  /** It may not, or could be better. */
  notes: Problem[]
}

/** Everything that can be found out about one installation; by a trial, too, if there is one that says what is wrong. */
export function examine(
  installation: Installation,
  workspace: string,
  trial: (installation: Installation) => string | undefined = () => undefined,
): Finding {
  const { agent, place, state, problem, program } = installation
  const again = `stint hook install ${agent}${place === 'user' || agent === 'git' ? '' : ` --${place}`}`
  if (state === 'unreadable')
    return { problems: [{ problem: problem ?? 'it cannot be read', fix: 'repair the file' }], notes: [] }
  if (state === 'lost') return { problems: [{ problem: problem ?? '', fix: again }], notes: [] }
  const files =
    agent === 'opencode' ? importsOf(readSettings(installation.path).bytes?.toString() ?? '') : program
  const gone = missing(files)
  const foreign = gone === undefined ? foreignFile(installation, files, workspace) : undefined
  const untried = foreign && `what it starts comes with the project, and was not tried out: ${foreign}`
  const tried = (gone ?? untried) === undefined && state !== 'edited' ? trial(installation) : undefined
  const switches = switchesOf(installation, workspace)
  const of = (kind: 'off' | 'ask'): Problem[] =>
    switches.flatMap(({ state, problem, fix }) => (state === kind ? [{ problem, fix }] : []))
  const problems = [problem, gone, untried, tried].filter((text) => text !== undefined)
  return {
    problems: [...problems.map((problem) => ({ problem, fix: again })), ...of('off')],
    notes: of('ask'),
  }
}

/** Hooks outlive what they start: a package manager moves a version, a project is cleaned. */
function missing(files: readonly string[]): string | undefined {
  const gone = files.find((word) => (isAbsolute(word) ? !existsSync(word) : onPath(word) === undefined))
  if (gone === undefined) return undefined
  return isAbsolute(gone) ? `what it starts is gone: ${gone}` : `${gone} is not on PATH`
}

const importsOf = (text: string): string[] =>
  [...text.matchAll(/"(file:[^"]+)"/g)].flatMap(([, url = '']) => {
    try {
      return [fileURLToPath(url)]
    } catch {
      // Somebody has edited it, and `inspect` has said so.
      return []
    }
  })
