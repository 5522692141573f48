import { rmdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { ensureHome, ensureHomeDirectory, stintHome } from '../../base/fs/home.ts'
import { runProgram } from '../../base/process/run-program.ts'
import { shellWord } from '../../base/text/escape.ts'
import type { HookChoices } from '../../hook/options.ts'
import { changingGitCommands, type ReadingArguments, readingGitCommands } from '../../reading/index.ts'
import {
  type Change,
  type HookWriting,
  installPart,
  type SettingsPart,
  uninstallPart,
  wholeFile,
} from '../change.ts'
import type { Problem } from '../inspect.ts'
import { type HookCommand, onlyRefusals, readCommand, startWords } from '../settings/command-text.ts'
import type { ShimTarget } from '../target.ts'

const head = `#!/bin/sh
# Written by \`stint hook install git --shim\`; \`stint hook uninstall git --shim\` removes it.
`

export const isOurShim = (text: string): boolean => text.startsWith(head)

/** The name of the shim's directory. A shim never takes a program in such a directory for git. */
export const shimDirectory = 'git-shim'

/**
 * The script that stands before git on PATH, in portable shell. Its variables begin with an underscore: git
 * would get the value of one whose name its user has exported.
 */
export function shimText(
  program: readonly string[],
  { failClosed }: Pick<HookChoices, 'failClosed'>,
): string {
  const words = startWords(program).map(shellWord).join(' ')
  const check = `${words} git shim ${failClosed ? '--fail-closed ' : ''}-- "$@" </dev/null >&2`
  return `${head}# Commands that only read go straight to git. stint is asked about all others, before git starts.

${onlyReadsFunction()}
_git= _rest=$PATH:
while [ -n "$_rest" ]; do
  _directory=\${_rest%%:*} _rest=\${_rest#*:}
  case $_directory in */${shimDirectory} | */${shimDirectory}/) continue ;; esac
  _found=\${_directory:-.}/git
  if [ -f "$_found" ] && [ -x "$_found" ] && ! [ "$_found" -ef "$0" ]; then _git=$_found; break; fi
done
if [ -z "$_git" ]; then echo "$0: there is no other git on PATH" >&2; exit 127; fi
if [ "\${STINT_BYPASS-}" != 1 ] && ! only_reads "$@"; then
  (${check}${failClosed ? '' : onlyRefusals}) || exit 1
fi
exec "$_git" "$@"
`
}

/** The command with which a shim starts stint-hook; undefined if the shim was edited. */
export function commandInShim(text: string): HookCommand | undefined {
  const line = /^ {2}\((.* git) shim /m.exec(text)?.[1]
  return line === undefined ? undefined : readCommand(line)
}

/** A pattern of the names that are part of git. */
const ofGit = [...Object.keys(readingGitCommands()), ...changingGitCommands()].join(' | ')

/** Everyday forms of commands whose operands decide whether they read: the number of words, and the words. */
const readingForms = `1,branch | 2,branch\\ -[arv] | 2,branch\\ -vv | 2,branch\\ --list | 2,branch\\ --show-current | \\
  1,tag | 2,tag\\ -l | 2,tag\\ --list | 1,remote | 2,remote\\ -v | 1,reflog | \\
  2,config\\ -l | 2,config\\ --list | 3,config\\ --get\\ [a-z]* | 2,symbolic-ref\\ HEAD | \\
  3,symbolic-ref\\ -q\\ HEAD | 3,symbolic-ref\\ --quiet\\ HEAD | 3,symbolic-ref\\ --short\\ HEAD | \\
  4,symbolic-ref\\ -q\\ --short\\ HEAD | 4,symbolic-ref\\ --quiet\\ --short\\ HEAD`

/**
 * `gitOnlyReads` in shell, from the same table, without a process of its own. It never takes a command for
 * reading that `gitOnlyReads` does not; where operands decide, it knows only some forms, and stint is asked.
 */
export const onlyReadsFunction = (): string => `only_reads() {
  while :; do
    case \${1-} in
    -C) [ $# -gt 1 ] || return 1; shift ;;
    -p | --paginate | -P | --no-pager | --no-optional-locks) ;;
    --version | --help | -h) [ $# -eq 1 ]; return ;;
    *) break ;;
    esac
    shift
  done
  [ $# -gt 0 ] || return 0
  case " $* " in *%G*) return 1 ;; esac
  case $#,$* in
  ${readingForms}) return 0 ;;
  esac
  _name=$1 _flags= _values= _long=
  shift
  case $#,\${1-} in
  1,--help) return 0 ;;
  1,-h)
    case $_name in
    ${ofGit}) return 0 ;;
    esac
    ;;
  esac
  case $_name in
${Object.entries(readingGitCommands())
  .filter(([, { operands }]) => operands === undefined)
  .map(([name, command]) => `  ${shellWord(name)}) ${shellArguments(command)} ;;`)
  .join('\n')}
  *) return 1 ;;
  esac
  for _word do
    case $_word in
    --) ;;
    --*)
      _option=\${_word%%=*} _option=\${_option#--}
      case $_option in '' | *[!abcdefghijklmnopqrstuvwxyz0123456789-]*) return 1 ;; esac
      case " $_long " in *" $_option "*) ;; *) return 1 ;; esac
      ;;
    -?*)
      _rest=\${_word#-}
      while [ -n "$_rest" ]; do
        _letter=\${_rest%"\${_rest#?}"} _rest=\${_rest#?}
        case $_flags in *"$_letter"*) continue ;; esac
        case $_values in *"$_letter"*) break ;; *) return 1 ;; esac
      done
      ;;
    esac
  done
}
`

function shellArguments({ flags = '', values = '', long = '', first }: ReadingArguments): string {
  const set = Object.entries({ flags, values, long: (long.match(/\S+/g) ?? []).join(' ') })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `_${name}=${shellWord(value)}`)
    .join(' ')
  if (first === undefined) return set
  const words = first.source.replaceAll(/[^\w|]|\?:/g, '')
  return `${set === '' ? '' : `${set}; `}case \${1-} in ${words}) ;; *) return 1 ;; esac`
}

/** The path of the shim of this user: a program named `git`, in a directory of its own for PATH. */
export const shimPath = (): string => join(stintHome(), shimDirectory, 'git')

export function installShim(
  { agent, place, path }: ShimTarget,
  { program, dryRun, choices }: HookWriting,
): Promise<Change> {
  if (!dryRun) {
    ensureHome(stintHome())
    ensureHomeDirectory(dirname(path))
  }
  const part = (): SettingsPart => wholeFile(path, head, () => shimText(program, choices()), 0o700)
  return installPart({ agent, place, path }, { part, dryRun })
}

export async function uninstallShim({ agent, place, path }: ShimTarget, dryRun: boolean): Promise<Change> {
  const part = wholeFile(path, head, () => '')
  const change = await uninstallPart({ agent, place, path }, { part, dryRun })
  // The directory is stint's own; one with other files stays.
  if (change.outcome === 'removed' && !dryRun) ifPossible(() => rmdirSync(dirname(path)))
  return change
}

/** The line that puts the shim before git. */
export const pathLine = (path: string): string => `export PATH=${shellWord(dirname(path))}:"$PATH"`

/**
 * Asks a login shell of this user which git it runs; describes what is wrong if it is not the shim. The shell
 * starts with a plain PATH, as at a login: this process may have inherited another one.
 */
export async function describeLoginShell(
  path: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Problem | undefined> {
  const shell = env.SHELL || userInfo().shell || '/bin/sh'
  const { HOME, USER, LOGNAME, LANG, STINT_HOME } = env
  const { stdout } = await runProgram(shell, ['-lc', 'command -v git'], {
    env: { HOME, USER, LOGNAME, LANG, STINT_HOME, SHELL: shell, PATH: '/usr/local/bin:/usr/bin:/bin' },
    timeoutMs: 10_000,
  })
  // A profile may print lines of its own first.
  const found = stdout.trimEnd().split('\n').at(-1) || 'no git'
  if (found === path) return undefined
  return {
    problem: `a login shell (${shell}) runs ${found} instead`,
    fix: `add this line to its profile: ${pathLine(path)}`,
  }
}
