import { appendFileSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { exists, ifExists } from '../../base/fs/exists.ts'
import { isShell, scripts, type Shell } from '../completion/scripts.ts'
import { shortPath } from '../text/format.ts'
import type { Step } from './step.ts'

/** The line of stint in `.zshrc`: zsh has no directory of a user's from which it takes completions. */
const zshMark = '# stint completion'
const zshLine = `command -v stint >/dev/null && eval "$(stint completion zsh)" ${zshMark}\n`

/** The file through which a shell finds the completion. */
function completionFile(shell: Shell): string {
  const below = (variable: string, usual: string, ...rest: string[]): string => {
    const given = process.env[variable]
    return join(given && isAbsolute(given) ? given : join(homedir(), usual), ...rest)
  }
  if (shell === 'bash') return below('XDG_DATA_HOME', '.local/share', 'bash-completion/completions/stint')
  if (shell === 'fish') return below('XDG_CONFIG_HOME', '.config', 'fish/completions/stint.fish')
  return below('ZDOTDIR', '', '.zshrc')
}

/** The step that sets up completion for the user's shell; none for another shell. */
export function completionStep(): Step[] {
  const shell = basename(process.env.SHELL ?? '')
  if (!isShell(shell)) return []
  const path = completionFile(shell)
  const before = readText(path)
  const after = shell === 'zsh' ? withLine(before ?? '') : scripts[shell]
  const what = shell === 'zsh' ? 'add a line for completion to' : `write the completion for ${shell} to`
  return [
    {
      name: 'completion',
      path,
      isDue: before !== after,
      text: `${what} ${shortPath(path)}`,
      apply: async () => {
        if (shell !== 'zsh' && exists(path) && !isOurs(before))
          throw new StintError('NAME_TAKEN', `${path} exists already, and was not written by stint`)
        mkdirSync(dirname(path), { recursive: true })
        // Appended in place: people keep this file behind a link.
        if (shell === 'zsh') appendFileSync(path, after.slice(before?.length ?? 0))
        else writeFileSync(path, after)
        return `completion for ${shell}, in new terminals`
      },
    },
  ]
}

/** The text of a file, also behind a link; undefined if there is none. */
const readText = (path: string): string | undefined => ifExists(() => readFileSync(path, 'utf8'))

const withLine = (text: string): string =>
  text.includes(zshMark) ? text : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${zshLine}`

const isOurs = (text: string | undefined): boolean =>
  text !== undefined && /^#.* completion for stint/m.test(text)

/** Removes a file, and the directories that were made for it if nothing else is in them. */
function removeWithParents(path: string): void {
  rmSync(path, { force: true })
  ifPossible(() => {
    rmdirSync(dirname(path))
    rmdirSync(dirname(dirname(path)))
  })
}

/** The steps that remove completion, for every shell that has it. */
export const completionRemoval = (): Step[] =>
  (Object.keys(scripts) as Shell[]).flatMap((shell): Step[] => {
    const path = completionFile(shell)
    const text = readText(path)
    if (text === undefined || !(shell === 'zsh' ? text.includes(zshMark) : isOurs(text))) return []
    const rest = text
      .split('\n')
      .filter((line) => !line.endsWith(zshMark))
      .join('\n')
    return [
      {
        name: 'completion',
        path,
        isDue: true,
        text: `remove the completion for ${shell} from ${shortPath(path)}`,
        apply: async () => {
          if (shell === 'zsh' && rest !== '') writeFileSync(path, rest)
          else removeWithParents(path)
          return `no completion for ${shell}`
        },
      },
    ]
  })
