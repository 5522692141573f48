import { dirname, join } from 'node:path'
import { stintHome } from '../../base/fs/home.ts'
import { shellWord } from '../../base/text/escape.ts'
import type { HookChoices } from '../options.ts'
import type { OwnFile } from './change.ts'
import type { Problem } from './inspect.ts'
import { findOnPath } from './own-program.ts'
import { onlyRefusals, readCommand, startWords } from './command-text.ts'

const head = `#!/bin/sh
# Written by \`stint hook install git --shim\`; \`stint hook uninstall git --shim\` removes it.
`

/** The name of the shim's directory. A shim never takes a program in such a directory for git. */
const shimDirectory = 'git-shim'

/**
 * The script that stands before git on PATH, in portable shell. Its variables begin with an underscore: git
 * would get the value of one whose name its user has exported.
 */
function shimText(program: readonly string[], { failClosed }: Pick<HookChoices, 'failClosed'>): string {
  const words = startWords(program).map(shellWord).join(' ')
  const check = `${words} git shim ${failClosed ? '--fail-closed ' : ''}-- "$@" </dev/null >&2`
  return `${head}# Everyday commands that only read go straight to git. stint is asked about all others, before git starts.

${onlyReadsFunction}
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

/** Recognizes reading commands of prompts, editors and people. stint knows more of them (`gitOnlyReads`). */
export const onlyReadsFunction = `only_reads() {
  while :; do
    case \${1-} in
    -C) [ $# -gt 1 ] || return 1; shift ;;
    -p | --paginate | -P | --no-pager | --no-optional-locks) ;;
    *) break ;;
    esac
    shift
  done
  # Options that write a file, start a program, or have gpg check a signature; git accepts shortened names.
  for _word do
    case $_word in
    --o | --ou* | --op* | --ext-* | --fi | --fil* | --show-s | --show-si* | *%G* | *%*signature*) return 1 ;;
    --*) ;;
    -*O*) return 1 ;;
    esac
  done
  case $#,\${1-} in 0, | 1,--version | 1,--help | 1,-h) return 0 ;; esac
  _name=$1
  shift
  case $_name in
  blame | cat-file | check-attr | check-ignore | cherry | count-objects | describe | diff | diff-files | \\
  diff-index | diff-tree | for-each-ref | grep | help | log | ls-files | ls-tree | merge-base | name-rev | \\
  rev-list | rev-parse | shortlog | show | show-ref | status | var | version) return 0 ;;
  stash | worktree) [ "\${1-}" = list ]; return ;;
  reflog) [ "\${1-show}" = show ]; return ;;
  branch | remote | tag)
    for _word do
      case $_word in
      -[arvl] | -vv | --all | --remotes | --list | --show-current | --no-color | --format=* | --sort=*) ;;
      *) return 1 ;;
      esac
    done ;;
  config | symbolic-ref)
    while :; do
      case \${1-} in
      --get | --get-all | --get-regexp | -l | --list) return 0 ;;
      -q | --quiet | --short | -z | --null | --global | --local | --bool | --type=*) shift ;;
      *) break ;;
      esac
    done
    # One operand is the name of what is read; config edit starts an editor.
    case $#,\${1-} in 1,-*) return 1 ;; 1,HEAD | 1,*.*) ;; *) return 1 ;; esac ;;
  *) return 1 ;;
  esac
}
`

/** The path of the shim of this user: a program named `git`, in a directory of its own for PATH. */
export const shimPath = (): string => join(stintHome(), shimDirectory, 'git')

export const shimFile: OwnFile = {
  firstLines: head,
  mode: 0o700,
  write: shimText,
  read(text) {
    const line = /^ {2}\((.* git) shim /m.exec(text)?.[1]
    const program = (line === undefined ? undefined : readCommand(line))?.program ?? []
    return { program, choices: text.includes(' --fail-closed ') ? { failClosed: true } : {} }
  },
}

/** The line that puts the shim before git. */
export const pathLine = (path: string): string => `export PATH=${shellWord(dirname(path))}:"$PATH"`

/** Describes what is wrong if another git comes first on PATH; undefined if the shim does. */
export function describePath(path: string): Problem | undefined {
  const first = findOnPath('git') ?? 'no git'
  if (first === path) return undefined
  return {
    problem: `your PATH has ${first} before it`,
    fix: `add this line to the profile of your shell, and open a new one: ${pathLine(path)}`,
  }
}
