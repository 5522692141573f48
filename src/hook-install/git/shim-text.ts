import { shellWord } from '../../base/text/escape.ts'
import type { HookChoices } from '../../hook/options.ts'
import {
  changingGitCommands,
  listingOptions,
  type ReadingArguments,
  readingGitCommands,
} from '../../reading/index.ts'
import { type HookCommand, onlyRefusals, readCommand, startWords } from '../settings/command-text.ts'

const head = `#!/bin/sh
# Written by \`stint hook install git --shim\`; \`stint hook uninstall git --shim\` removes it.
`

export const isOurShim = (text: string): boolean => text.startsWith(head)

/** The name of the shim's directory. A shim never takes a program in such a directory for git. */
export const shimDirectory = 'git-shim'

/** The script that stands before git on PATH, in portable shell. */
export function shimText(
  program: readonly string[],
  { failClosed }: Pick<HookChoices, 'failClosed'>,
): string {
  const words = startWords(program).map(shellWord).join(' ')
  const check = `${words} git shim ${failClosed ? '--fail-closed ' : ''}-- "$@" </dev/null >&2`
  return `${head}# Commands that only read go straight to git. stint is asked about all others, before git starts.

${onlyReadsFunction()}
git= rest=$PATH:
while [ -n "$rest" ]; do
  directory=\${rest%%:*} rest=\${rest#*:}
  case $directory in */${shimDirectory} | */${shimDirectory}/) continue ;; esac
  found=\${directory:-.}/git
  if [ -f "$found" ] && [ -x "$found" ] && ! [ "$found" -ef "$0" ]; then git=$found; break; fi
done
if [ -z "$git" ]; then echo "$0: there is no other git on PATH" >&2; exit 127; fi
if [ "\${STINT_BYPASS-}" != 1 ] && ! only_reads "$@"; then
  (${check}${failClosed ? '' : onlyRefusals}) || exit 1
fi
exec "$git" "$@"
`
}

/** The command with which a shim starts stint-hook; undefined if the shim was edited. */
export function commandInShim(text: string): HookCommand | undefined {
  const line = /^ {2}\((.* git) shim /m.exec(text)?.[1]
  return line === undefined ? undefined : readCommand(line)
}

/** A pattern of the names that are part of git. */
const ofGit = [...Object.keys(readingGitCommands()), ...changingGitCommands()].join(' | ')

/** The same decision as `gitOnlyReads`, in shell: from the same table, without a process of its own. */
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
  name=$1 flags= values= long=
  shift
  case $#,\${1-} in
  1,--help) return 0 ;;
  1,-h)
    case $name in
    ${ofGit}) return 0 ;;
    esac
    ;;
  esac
  case $name in
${Object.entries(readingGitCommands())
  .flatMap(([name, command]) =>
    isInShell(name, command) ? [`  ${shellWord(name)}) ${shellArguments(command)} ;;`] : [],
  )
  .join('\n')}
  *) return 1 ;;
  esac
  count=0 first= lists= takesnext= odd= isvalue= isbehind= isunclear=
  for word do
    wasvalue=$isvalue isvalue= isdashed=1
    case $word in
    --) ;;
    --*)
      option=\${word%%=*} option=\${option#--}
      case $option in '' | *[!${letters}-]*) return 1 ;; esac
      case " $long " in *" $option "*) ;; *) return 1 ;; esac
      ;;
    -?*)
      rest=\${word#-}
      while [ -n "$rest" ]; do
        letter=\${rest%"\${rest#?}"} rest=\${rest#?}
        case $flags in *"$letter"*) continue ;; esac
        case $values in *"$letter"*) ;; *) return 1 ;; esac
        [ -n "$rest" ] || isvalue=1
        break
      done
      ;;
    *) isdashed= ;;
    esac
    [ -z "$wasvalue" ] || [ -z "$isdashed" ] || isunclear=1
    if [ -z "$isbehind" ]; then
      case $word in
      --) isbehind=1 ;;
      ${listing}) lists=1 ;;
      --sort | --format) takesnext=1 ;;
      esac
      [ -z "$isdashed" ] || continue
    fi
    [ -z "$wasvalue" ] || continue
    isbehind=1 isvalue= count=$((count + 1))
    [ $count -gt 1 ] || first=$word
    case $word in '' | *[!${letters}${letters.toUpperCase()}_./-]*) odd=1 ;; esac
  done
  case $name in
${Object.entries(operandRules)
  .map(([name, rule]) => `  ${name}) ${rule} ;;`)
  .join('\n')}
  esac
}
`

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** A pattern of the options before the operands that make git list. */
const listing = listingOptions
  .split(' ')
  .map((option) => `${option} | ${option}=*`)
  .join(' | ')

const listsOnly = '[ $count -eq 0 ] || { [ -n "$lists" ] && [ -z "$takesnext" ]; }'

/** The rules of the table about operands, which are functions there, in shell. A test compares the two. */
const operandRules: Readonly<Record<string, string>> = {
  branch: listsOnly,
  tag: listsOnly,
  config: `[ -n "$lists" ] || [ "$first" = get ] || case $count,$first in 1,list | 1,*.*) ;; *) false ;; esac`,
  'ls-remote': '[ -z "$odd" ]',
  reflog: `case $isunclear$first in '' | show | HEAD) ;; *) false ;; esac`,
  remote: `case $odd$first in '' | get-url | show) ;; *) false ;; esac`,
  'symbolic-ref': '[ $count -le 1 ]',
}

/** A command whose rule is not known here is left to stint. */
const isInShell = (name: string, { operands }: ReadingArguments): boolean =>
  operands === undefined || Object.hasOwn(operandRules, name)

function shellArguments({ flags = '', values = '', long = '', first }: ReadingArguments): string {
  const set = Object.entries({ flags, values, long: (long.match(/\S+/g) ?? []).join(' ') })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${shellWord(value)}`)
    .join(' ')
  if (first === undefined) return set
  const words = first.source.replaceAll(/[^\w|]|\?:/g, '')
  return `${set === '' ? '' : `${set}; `}case \${1-} in ${words}) ;; *) return 1 ;; esac`
}
