#!/bin/sh
# Lets a call of an agent's tool begin or end without Node, if nothing has to be decided; asks Node otherwise.
# Usage: stint-hook.sh [NODE STINT-HOOK] AGENT [OPTION...], with the event on stdin. Without full paths, it starts
# the node on PATH, and the stint-hook beside itself: in files that several people or machines share.
#
# src/lease/marks.ts has the protocol. Its order makes it safe: read the pass, append the mark, list the
# epochs. Every doubt and every failure leads to Node, which gets the event in a variable, and the rest of the
# input on stdin.

# Splits the event at its quotes, and follows the nesting of its objects. A part that ends in a backslash is
# followed by a quote inside the string. Fails unless the text is one whole object, without blanks between.
read_event() {
  session='' cwd='' event='' tool='' calls='' subagent='' file=''
  depth=0 key='' object='' string='' quoted='' odd='' brace='[{}]'
  set -f
  IFS='"'
  set -- $STINT_HOOK_INPUT
  unset IFS
  # A shell is slow with many parts, and with long ones outside of strings.
  [ $# -le 2000 ] || return 1
  for part do
    if [ "$quoted" ]; then
      case $part in
        *\\\\) return 1 ;;
        *\\) odd=yes; continue ;;
      esac
      # A string with escapes is none of those that are needed.
      string=$part quoted=''
      [ -z "$odd" ] || string=\\
      case $depth:$key in
        1:session_id) session=$string ;;
        1:cwd) cwd=$string ;;
        1:hook_event_name) event=$string ;;
        1:tool_name) tool=$string ;;
        1:tool_use_id) calls=$string ;;
        1:agent_id) subagent=$string ;;
        2:tool_use_id) [ "$object" != tool_calls ] || calls="$calls $string" ;;
        2:file_path | 2:notebook_path)
          [ "$object" = tool_input ] || continue
          [ -z "$file" ] || return 1
          file=$string
          ;;
      esac
      continue
    fi
    quoted=yes odd='' key=''
    [ ${#part} -le 200 ] || return 1
    case $part in
      :) key=$string; continue ;;
      ,) continue ;;
      :true*) [ "$string" != is_interrupt ] || return 1 ;;
      :*) [ "$depth" != 1 ] || object=$string ;;
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
  [ "$depth" = 0 ]
}

# A word that may be part of a path or a line. Ranges such as a-z contain other letters in some locales.
is_plain() {
  case $1 in
    '' | [.-]* | *[!ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-]*) return 1 ;;
  esac
  [ ${#1} -le 128 ]
}

# Reads the session's pass for this directory, of this boot and of the agent that has started this script.
find_pass() {
  read -r this_boot </proc/sys/kernel/random/boot_id || return 1
  read -r uptime idle </proc/uptime || return 1
  set +f
  for pass in "$passes"/????????????; do
    [ -f "$pass" ] && [ ! -L "$pass" ] || continue
    inside='' edits='
'
    {
      read -r format boot key epoch agent started until covers && read -r identity && read -r kind root || continue
      while IFS= read -r line; do
        case $line in
          "in $cwd") inside=yes ;;
          'edit '*) edits="$edits${line#edit }
" ;;
        esac
      done
    } <"$pass"
    case $epoch:$agent:$started:$until in
      *[!0-9:]* | :* | *::* | *:) continue ;;
    esac
    [ "$format" = stint-pass-1 ] && [ "$inside" ] && [ "$covers" = "$scope" ] && [ "$boot" = "$this_boot" ] &&
      [ "$key" = "${pass##*/}" ] && [ "${uptime%.*}" -lt "$until" ] && is_from_agent && return 0
  done
  return 1
}

# The agent is the parent of this process, or of the shell that the agent has started it with.
is_from_agent() {
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

# Reads the name, parent and start time of a process. The name may contain blanks and parentheses.
read_stat() {
  read -r stat <"/proc/$1/stat" || return 1
  name=${stat#*\(} name=${name%\) *} stat=${stat##*\) }
  set -f
  set -- $stat
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
  # One read: the shell's own reads one byte at a time, and other programs wait for the end of the input.
  STINT_HOOK_INPUT=$(dd bs=65536 count=1)
  [ "$STINT_BYPASS" != 1 ] || return 1
  scope=workspace
  case " $* " in
    *' --record '*) return 1 ;;
    *' --scope paths '*) scope=paths ;;
  esac
  read_event && is_plain "$session" || return 1
  case " $* " in
    *' --subagents apart '*) [ -z "$subagent" ] || return 1 ;;
  esac
  home=${STINT_HOME:-${HOME:+$HOME/.stint}}
  passes=$home/passes/$session
  [ "$home" ] && [ -d "$passes" ] || return 1
  for call in $calls; do is_plain "$call" || return 1; done
  [ "$calls" ] && find_pass || return 1
  marks=$passes/$key.$epoch
  [ -f "$marks" ] && [ ! -L "$marks" ] || return 1
  case $event:$tool in
    PreToolUse:Bash | PreToolUse:Monitor | PreToolUse:PowerShell)
      is_in_workspace && printf '%s\n' "+$calls $uptime $agent command" >>"$marks"
      ;;
    PreToolUse:Edit | PreToolUse:Write | PreToolUse:MultiEdit | PreToolUse:NotebookEdit)
      is_in_workspace && may_edit "$file" && printf '%s\n' "+$calls $uptime $agent edit" >>"$marks"
      ;;
    PreToolUse:apply_patch)
      is_in_workspace && may_patch && printf '%s\n' "+$calls $uptime $agent edit" >>"$marks"
      ;;
    PostToolUse:* | PostToolUseFailure:* | PostToolBatch:*)
      ends=''
      for call in $calls; do ends="$ends-$call $uptime
"; done
      printf %s "$ends" >>"$marks"
      ;;
    *) false ;;
  esac && is_on_top
}

here=$PWD
case $1 in
  /*) host=$3 ;;
  *) host=$1 ;;
esac
# The stdin of other hosts is not read: that of git may be a terminal.
case $host in
  claude | codex)
    if has_nothing_to_decide "$@" 2>/dev/null; then exit 0; fi
    export STINT_HOOK_INPUT
    cd "$here" 2>/dev/null
    ;;
esac
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
