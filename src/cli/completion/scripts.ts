import { appendFileSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { exists, ifExists } from '../../base/fs/exists.ts'
import type { Step } from '../init/step.ts'
import { shortPath } from '../text/format.ts'

/**
 * The script for each shell. It asks `stint completion --for` what can stand at the cursor. The answer is one
 * line for each candidate, `text<TAB>help`, or `:files` or `:programs` if the shell is to complete the names.
 */
export const scripts = {
  bash: `# bash completion for stint: eval "$(stint completion bash)"
_stint() {
  local line words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      compopt -o default 2>/dev/null || :
      COMPREPLY=()
      return
    fi
    if [ "$line" = ":programs" ]; then
      compopt -o default 2>/dev/null || :
      [[ "\${COMP_WORDS[COMP_CWORD]}" == */* ]] && return
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -c -- "\${COMP_WORDS[COMP_CWORD]}" | sort -u)
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(command stint completion --for -- "\${words[@]}" 2>/dev/null)
}
complete -o nosort -F _stint stint 2>/dev/null || complete -F _stint stint
`,
  zsh: `#compdef stint
# zsh completion for stint: eval "$(stint completion zsh)"
_stint() {
  local line
  local -a candidates
  for line in "\${(@f)$(command stint completion --for -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ "$line" == ":files" ]]; then
      _files
      return
    fi
    if [[ "$line" == ":programs" ]]; then
      if [[ "\${words[CURRENT]}" == */* ]]; then _files; else _command_names -e; fi
      return
    fi
    [[ -n "$line" ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe 'stint' candidates
}
compdef _stint stint
`,
  fish: `# fish completion for stint: stint completion fish | source
function __stint_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (command stint completion --for -- $words[2..-1] 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path (commandline -ct)
            return
        end
        if test "$line" = ":programs"
            complete -C (commandline -ct)
            return
        end
        printf '%s\\n' $line
    end
end
complete -c stint -f -a '(__stint_complete)'
`,
} as const

export type Shell = keyof typeof scripts

export const shells = Object.keys(scripts) as Shell[]

export const isShell = (name: string): name is Shell => Object.hasOwn(scripts, name)

/** The line of stint in `.zshrc`: zsh has no directory of a user's from which it takes completions. */
const zshMark = '# stint completion'
const zshLine = `command -v stint >/dev/null && eval "$(stint completion zsh)" ${zshMark}\n`

/** The file through which a shell finds the completion. */
function completionFile(shell: Shell): string {
  const below = (variable: string, usual: string, ...names: string[]): string => {
    const directory = process.env[variable]
    return join(directory && isAbsolute(directory) ? directory : join(homedir(), usual), ...names)
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
    const otherLines = text
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
          if (shell === 'zsh' && otherLines !== '') writeFileSync(path, otherLines)
          else removeWithParents(path)
        },
      },
    ]
  })
