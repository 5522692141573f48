#!/bin/sh
# Allows a call of an agent's tool, as it begins and when it has ended, without Node if a pass of its session
# covers it (pass.ts); every other event, and every doubt, goes to Node. This script writes nothing.
# Usage: stint-hook.sh [NODE STINT-HOOK] AGENT [OPTION...], with the event on stdin. Without full paths, it
# starts the node on PATH and the stint-hook beside itself: in files that several people or machines share.
here=$PWD locale=${LC_ALL-} tab='	'
# In the C locale dd starts faster, and ranges such as a-z contain no other letters.
export LC_ALL=C

# Splits the event at its quotes and walks through its properties up to the first of the tool's arguments. A
# string with a backslash goes to Node, as it may have an escaped quote; so does a property that comes twice.
# The result of a call, which may be long, comes after all that matters: it is cut off first.
read_event() {
  cwd='' event='' tool='' inside=''
  case $STINT_HOOK_INPUT in '{"session_id":"'*'}') ;; *) return 1 ;; esac
  [ ${#STINT_HOOK_INPUT} -lt 65536 ] || return 1
  text=${STINT_HOOK_INPUT%%'"tool_response":'*}
  for name in session_id cwd agent_id hook_event_name tool_name tool_input file_path; do
    case $text in *"\"$name\":"*"\"$name\":"*) return 1 ;; esac
  done
  IFS='"'
  set -- $text
  unset IFS
  session=$4
  # $1 comes before a property, $2 is its name, $3 comes after the name, and $4 is its value, if a string.
  while [ $# -gt 6 ]; do
    case $1 in *'}'*) inside='' ;; esac
    case $inside$2$3 in
      cwd:) cwd=$4 ;;
      hook_event_name:) event=$4 ;;
      tool_name:) tool=$4 ;;
      'tool_input:{') argument=$4$5 value=$6; return 0 ;;
    esac
    case $3:$4 in
      ::*\\*) return 1 ;;
      ::*) shift 4 ;;
      ':{:'*) [ -z "$inside" ] || return 1; inside=$2.; shift 2 ;;
      *,:*) shift 2 ;;
      *) return 1 ;;
    esac
  done
  return 1
}

# The target of a call, which begins (Pre) or has ended (Post): a command's directory, or an edit's file.
find_target() {
  directory=$cwd target=$cwd
  case "$STINT_BYPASS: $* " in 1:* | *' --record '*) return 1 ;; esac
  case "$text $* " in *'"agent_id":'*' --subagents apart '*) return 1 ;; esac
  case $event:$tool:$argument in
    P*ToolUse:Bash:command: | P*ToolUse:Monitor:command:)
      case " $* " in *' --scope paths '*) return 1 ;; esac
      # Such a command may belong to another directory, or be a patch.
      case $value$text in cd* | [!A-Za-z0-9]* | *' -C'* | *'\t-C'* | *'*** '*) return 1 ;; esac
      ;;
    P*ToolUse:Edit:file_path: | P*ToolUse:Write:file_path: | P*ToolUse:MultiEdit:file_path:)
      case $value in *\\* | *' ' | '') return 1 ;; /*) target=$value ;; *) target=$cwd/$value ;; esac
      directory=${target%/*}
      [ ! -L "$target" ] && [ ! -d "$target" ] || return 1
      ;;
    *) return 1 ;;
  esac
  # The directory is a real one, and the first .git at or above it tells the workspace.
  cd -P "$directory" && [ "$PWD" = "$directory" ] || return 1
  top=$directory
  while [ "$top" ] && [ ! -e "$top/.git" ]; do top=${top%/*}; done
  [ "$top" ] || [ -e /.git ] || top=-
}

has_pass() {
  home=${STINT_HOME:-${HOME:+$HOME/.stint}}
  case $home:$session in :* | *: | *:[.-]* | *:*[!A-Za-z0-9._-]*) return 1 ;; esac
  [ -f "$home/pass/$session" ] && [ ! -L "$home/pass/$session" ] || return 1
  read -r this_boot </proc/sys/kernel/random/boot_id && read -r uptime idle </proc/uptime || return 1
  while IFS=$tab read -r boot key epoch until agent started root covers; do
    [ "$boot:$root" = "$this_boot:$top" ] && [ "${uptime%.*}" -lt "$until" ] || continue
    is_covered && is_from_agent && is_on_top && return 0
  done <"$home/pass/$session"
  return 1
}

is_covered() {
  IFS=$tab covered=''
  for path in $covers; do case $target in "$path" | "$path"/*) covered=yes ;; esac; done
  unset IFS
  [ "$covered" ]
}

# The agent is the parent of this process, or of the shell that it has started this process with.
is_from_agent() {
  above=$PPID
  while read -r stat <"/proc/$above/stat"; do
    # The name may have any character, also blanks and parentheses; only numbers come after it.
    name=${stat%\) *}
    set -- ${stat#"$name"}
    [ "$above" != "$agent" ] || { [ "${21}" = "$started" ]; return; }
    case $above:$name in "$PPID":*sh | "$PPID":*\(busybox) above=$3 ;; *) return 1 ;; esac
  done
  return 1
}

# Of the epochs, which are files with numbers as names, that of the pass is the highest.
is_on_top() {
  highest=0
  set +f
  for file in "$home/locks/$key"/*; do
    case ${file##*/} in *[!0-9]*) ;; *) [ "${file##*/}" -le "$highest" ] || highest=${file##*/} ;; esac
  done
  set -f
  [ "$highest" = "$epoch" ]
}

set -f
# Behind the paths of node and stint-hook the agent is $3, else $1.
case $1:$3 in
  /*:claude | /*:codex | claude:* | codex:*)
    # One read: the shell's own reads one byte at a time, and other programs wait for the end of the input.
    STINT_HOOK_INPUT=$(dd bs=65536 count=1 status=none 2>/dev/null)
    if { read_event && find_target "$@" && has_pass; } 2>/dev/null; then exit 0; fi
    export STINT_HOOK_INPUT
    cd "$here" 2>/dev/null
    ;;
esac
if [ "$locale" ]; then LC_ALL=$locale; else unset LC_ALL; fi
# Node 20 reads extra certificates at every start, for 50 ms or more; the hook opens no connection.
export NODE_EXTRA_CA_CERTS=
case $1 in /*) exec "$@" ;; esac
# Package managers put a link to this file on PATH.
self=$(readlink -f "$0") || self=$0
exec node "${self%/*}/stint-hook.cjs" "$@"
