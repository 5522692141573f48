#!/bin/sh
# Lets a call of an agent's tool begin or end without Node, if nothing has to be decided; asks Node otherwise.
# Usage: stint-hook.sh [NODE STINT-HOOK] AGENT [OPTION...], with the event on stdin; or, for a hook of git or
# the shim, stint-hook.sh [NODE STINT-HOOK] git HOOK [ARGUMENT...]. Without full paths, it starts the node on
# PATH, and the stint-hook beside itself: in files that several people or machines share.
#
# src/lease/marks.ts has the protocol. Its order makes it safe: read the pass, append the mark, list the
# epochs. Every doubt and every failure leads to Node, which gets the event in a variable, and the rest of the
# input on stdin.

here=$PWD
# In the C locale dd starts faster, and ranges such as a-z contain no other letters.
locale=${LC_ALL-}
LC_ALL=C
export LC_ALL
case $1 in
  /*) host=$3 ;;
  *) host=$1 ;;
esac
# One read: the shell's own reads one byte at a time, and other programs wait for the end of the input. The
# stdin of other hosts is not read: that of git may be a terminal.
case $host in
  claude | codex)
    dd=/bin/dd
    [ -x $dd ] || dd=dd
    STINT_HOOK_INPUT=$($dd bs=65536 count=1 status=none 2>/dev/null)
    ;;
esac

# Splits the event at its quotes, and walks through its properties up to those of the tool. A quote between a
# comma and a name is never part of a string, as that would have a backslash before it.
read_event() {
  cwd='' event='' tool='' subagent='' file='' inside=''
  case $STINT_HOOK_INPUT in
    '{"session_id":"'*'}') ;;
    *) return 1 ;;
  esac
  # A full block is probably not all of the event.
  [ ${#STINT_HOOK_INPUT} -lt 65536 ] || return 1
  set -f
  IFS='"'
  set -- $STINT_HOOK_INPUT
  unset IFS
  session=$4
  # $1 comes before a property, $2 is its name, $3 comes after the name, and $4 is its value, if a string.
  while [ $# -gt 4 ]; do
    case $1 in
      *'}'*) inside='' ;;
    esac
    case $inside$2$3 in
      cwd:) cwd=$4 ;;
      hook_event_name:) event=$4 ;;
      tool_name:) tool=$4 ;;
      agent_id:) subagent=$4 ;;
      tool_use_id:) return 1 ;;
      'tool_calls:[{') break ;;
      'tool_input:{')
        case $event:$tool in
          PreToolUse:*Edit | PreToolUse:Write) ;;
          *) break ;;
        esac
        ;;
      tool_input.file_path: | tool_input.notebook_path:) file=$4; break ;;
    esac
    case $3 in
      :)
        case $4 in
          *\\) return 1 ;;
        esac
        shift 4
        ;;
      ':{')
        [ -z "$inside" ] || return 1
        inside=$2.
        shift 2
        ;;
      :*,) shift 2 ;;
      *) return 1 ;;
    esac
  done
  if [ "$event" = PostToolBatch ]; then
    read_batch "$@"
  else
    read_last_id "$@"
  fi
}

# The last id of a call is that of the event: it follows the arguments and the result of the tool, and comes
# before an error.
read_last_id() {
  if [ "$event" = PostToolUseFailure ]; then
    case $STINT_HOOK_INPUT in
      *'"tool_use_id":'*'"tool_use_id":'*) return 1 ;;
    esac
    IFS='"'
    set -- ${STINT_HOOK_INPUT%%,\"error\":*}
    unset IFS
  fi
  [ $# -le 24 ] || shift $(($# - 24))
  calls=''
  while [ $# -gt 3 ]; do
    case $1 in
      *,) [ "$2" != tool_use_id ] || [ "$3" != : ] || calls=$4 ;;
    esac
    shift
  done
  is_plain "$calls"
}

# Reads the ids of the calls in a batch, and follows the nesting of its objects.
read_batch() {
  calls='' depth=1 key='' string='' quoted='' odd='' brace='[{}]'
  # A shell is slow with many parts, and with long ones outside of strings.
  [ $# -le 2000 ] || return 1
  for part do
    if [ "$quoted" ]; then
      case $part in
        *\\\\) return 1 ;;
        # A quote follows that is inside of the string.
        *\\) odd=yes; continue ;;
      esac
      string=$part quoted=''
      if [ "$depth:$key" = 2:tool_use_id ]; then
        [ -z "$odd" ] && is_plain "$string" || return 1
        calls="$calls $string"
      fi
      continue
    fi
    quoted=yes odd='' key=''
    [ ${#part} -le 200 ] || return 1
    case $part in
      :) key=$string; continue ;;
      ,) continue ;;
    esac
    while :; do
      case $part in
        *$brace*) part=${part#"${part%%$brace*}"} ;;
        *) break ;;
      esac
      case $part in
        '{'*) depth=$((depth + 1)) ;;
        *) depth=$((depth - 1)) ;;
      esac
      part=${part#?}
    done
  done
  [ "$depth" = 0 ] && [ "$calls" ]
}

# A word that may be part of a path or a line.
is_plain() {
  case $1 in
    '' | [.-]* | *[!A-Za-z0-9._-]*) return 1 ;;
  esac
  [ ${#1} -le 128 ]
}

# Finds the session's pass for this directory, of this boot and of the agent that has started this script.
# The format of the home is not looked at: Node writes a pass only into a home of its own format.
find_pass() {
  home=${STINT_HOME:-${HOME:+$HOME/.stint}}
  passes=$home/passes/$session
  [ "$home" ] && is_plain "$session" || return 1
  read -r this_boot </proc/sys/kernel/random/boot_id && read -r uptime idle </proc/uptime || return 1
  set +f
  for pass in "$passes"/????????????; do
    key=${pass##*/}
    [ -f "$pass" ] && [ ! -L "$pass" ] && read_pass <"$pass" || continue
    case $host in
      git) is_in_workspace && is_below_agent && return 0 ;;
      *) is_from_agent && return 0 ;;
    esac
  done
  return 1
}

# Reads a pass from stdin, as far as it is needed: a shell reads files one byte at a time.
read_pass() {
  read -r format boot epoch agent started until covers && read -r kind root || return 1
  case $epoch:$agent:$started:$until in
    *[!0-9:]* | :* | *::* | *:) return 1 ;;
  esac
  [ "$format:$boot:$covers" = "pass-2:$this_boot:$scope" ] || return 1
  [ "${uptime%.*}" -lt "$until" ] || return 1
  [ "$host" != git ] || return 0
  inside='' edits='
'
  while IFS= read -r line; do
    case $line in
      "in $cwd") inside=yes ;;
      'edit '*) edits="$edits${line#edit }
" ;;
      'agent '*) break ;;
    esac
    case $inside:$tool in
      yes:*Edit | yes:Write | yes:apply_patch) ;;
      yes:*) return 0 ;;
    esac
  done
  [ "$inside" ]
}

# The agent is the parent of this process, or of the shell that the agent has started it with.
is_from_agent() {
  # The agent was there before the pass was written: no other process can have got its pid meanwhile.
  [ "$PPID" != "$agent" ] || [ ! "$pass" -nt "/proc/$agent" ] || return 0
  read_stat "$PPID" || return 1
  if [ "$PPID" != "$agent" ]; then
    case $name in
      sh | dash | bash | ash | busybox | zsh | ksh) ;;
      *) return 1 ;;
    esac
    [ "$parent" = "$agent" ] && read_stat "$agent" || return 1
  fi
  [ "$born" = "$started" ]
}

# The agent is a process above git.
is_below_agent() {
  above=$PPID left=64
  while [ "$above" -gt 0 ] && [ "$left" -gt 0 ] && read_stat "$above"; do
    if [ "$above" = "$agent" ]; then
      [ "$born" = "$started" ]
      return
    fi
    above=$parent left=$((left - 1))
  done
  return 1
}

# Reads the name, parent and start time of a process. The name may contain blanks and parentheses.
read_stat() {
  read -r stat <"/proc/$1/stat" || return 1
  name=${stat#*\(} name=${name%\) *}
  set -f
  IFS=')'
  set -- $stat
  unset IFS
  shift $(($# - 1))
  set -- $1
  set +f
  parent=$2 born=${20}
}

# The directory is still a real one, and in the workspace of the pass: neither a link nor a new repository.
is_in_workspace() {
  at=$cwd
  while [ "$at" ] && [ ! -e "$at/.git" ]; do at=${at%/*}; done
  case $kind in
    repository) [ "$at" = "$root" ] ;;
    directory) [ -z "$at" ] && [ "$cwd" = "$root" ] ;;
    *) false ;;
  esac && cd -P "$cwd" && [ "$PWD" = "$cwd" ]
}

# The pass lists the file, or its directory; the file is no link, and its directory is a real one.
may_edit() {
  # A name with escapes is not known here, and Node takes blanks around a name off.
  case $1 in
    '' | *\\* | ' '* | *' ') return 1 ;;
    /*) path=$1 ;;
    *) path=$cwd/$1 ;;
  esac
  directory=${path%/*}
  listed=$directory
  [ "$scope" = workspace ] || listed=$path
  case $edits in
    *"
$listed
"*) ;;
    *) return 1 ;;
  esac
  [ ! -L "$path" ] && cd -P "$directory" && [ "$PWD" = "$directory" ]
}

# No other property names a file: an edit of a notebook, or an edit within a list, may do so.
is_only_file() {
  case $STINT_HOOK_INPUT in
    *'"file_path":'*'"file_path":'* | *'"file_path":'*'"notebook_path":'*) false ;;
    *'"notebook_path":'*'"file_path":'*) false ;;
  esac
}

# A patch names each of its files in a line such as `*** Update File: NAME`.
may_patch() {
  set -f
  IFS='*'
  set -- $STINT_HOOK_INPUT
  unset IFS
  set +f
  patched=''
  for part do
    case $part in
      ' Add File: '* | ' Update File: '* | ' Delete File: '* | ' Move to: '*)
        part=${part#*: }
        # Without the end of its line, the name contains an asterisk.
        case $part in
          *\\n*) may_edit "${part%%\\n*}" || return 1 ;;
          *) return 1 ;;
        esac
        patched=yes
        ;;
    esac
  done
  [ "$patched" ]
}

# No epoch is higher than that of the pass: the record has not changed since. Only digits are an epoch.
is_on_top() {
  top=''
  for link in "$home/locks/$key"/*; do
    link=${link##*/}
    case $link in
      *[!0-9]*) continue ;;
    esac
    [ "$link" -le "$epoch" ] || return 1
    [ "$link" != "$epoch" ] || top=yes
  done
  [ "$top" ]
}

has_nothing_to_decide() {
  [ "$STINT_BYPASS" != 1 ] || return 1
  scope=workspace
  case " $* " in
    *' --record '*) return 1 ;;
    *' --scope paths '*) scope=paths ;;
  esac
  read_event || return 1
  case "$subagent $* " in
    ?*' --subagents apart '*) return 1 ;;
  esac
  find_pass || return 1
  marks=$passes/$key.$epoch
  [ -f "$marks" ] && [ ! -L "$marks" ] || return 1
  case $event:$tool in
    PreToolUse:Bash | PreToolUse:Monitor | PreToolUse:PowerShell)
      is_in_workspace && mark="+$calls $uptime $agent command"
      ;;
    PreToolUse:Edit | PreToolUse:Write | PreToolUse:MultiEdit | PreToolUse:NotebookEdit)
      is_in_workspace && is_only_file && may_edit "$file" && mark="+$calls $uptime $agent edit"
      ;;
    PreToolUse:apply_patch)
      is_in_workspace && may_patch && mark="+$calls $uptime $agent edit"
      ;;
    PostToolUseFailure:*)
      # An interrupted call ends its turn.
      case $STINT_HOOK_INPUT in
        *'"is_interrupt":true'*) false ;;
        *) mark="-$calls $uptime" ;;
      esac
      ;;
    PostToolUse:* | PostToolBatch:*)
      mark=''
      for call in $calls; do mark="$mark${mark:+
}-$call $uptime"; done
      ;;
    *) false ;;
  esac && printf '%s\n' "$mark" >>"$marks" && is_on_top
}

# The session that runs this command of git holds all of the workspace, so no session holds it that is not its
# kin. git needs no mark: it is part of a call, which has one.
is_git_of_holder() {
  [ "$STINT_BYPASS" != 1 ] || return 0
  # A variable may name another tree than that of the current directory.
  [ -z "$GIT_WORK_TREE" ] || return 1
  case $1 in
    /*) shift 2 ;;
  esac
  [ "$2" != shim ] || enter_directory "$@" || return 1
  cd -P . && cwd=$PWD scope=workspace || return 1
  # The variables of the agents that have passes.
  for session in "$CLAUDE_CODE_SESSION_ID" "$CODEX_THREAD_ID"; do
    find_pass && is_on_top && return 0
  done
  return 1
}

# Enters the directory of a command that the shim is about to start: `git shim [--fail-closed] -- WORD...`.
enter_directory() {
  while [ "$1" != -- ]; do
    [ $# -gt 1 ] || return 1
    shift
  done
  while [ "$2" = -C ] && [ $# -gt 3 ]; do
    case $3 in
      /*) cd -P "$3" ;;
      *) cd -P "./$3" ;;
    esac || return 1
    shift 2
  done
  # Other options may name another repository, and these commands work on the directory that they make.
  case $2 in
    -* | clone | init | worktree) return 1 ;;
  esac
  [ -z "$GIT_DIR" ]
}

case $host in
  claude | codex)
    if has_nothing_to_decide "$@" 2>/dev/null; then exit 0; fi
    export STINT_HOOK_INPUT
    cd "$here" 2>/dev/null
    ;;
  git)
    if is_git_of_holder "$@" 2>/dev/null; then exit 0; fi
    cd "$here" 2>/dev/null
    ;;
esac
LC_ALL=$locale
[ "$locale" ] || unset LC_ALL
# Node 20 reads extra certificates at every start, for 50 ms or more; the hook opens no connection.
NODE_EXTRA_CA_CERTS=''
export NODE_EXTRA_CA_CERTS
case $1 in
  /*) exec "$@" ;;
esac
# Package managers put a link to this file on PATH.
self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self") || exit 1
  case $target in
    /*) self=$target ;;
    *) self=${self%/*}/$target ;;
  esac
done
exec node "${self%/*}/stint-hook.cjs" "$@"
