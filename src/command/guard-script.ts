/**
 * The guard, in POSIX sh: reads what it is told until the pipe closes, which every death of the run brings, then
 * ends what is left of the run and removes its scratch. It signals single processes it has just listed, never a group:
 * on a terminal the user's own script is in it.
 *
 *   $1 scratch   $2 its place in the trash   $3 the run's mark in its children's environment
 *   $4 the scratch as /proc/self/mountinfo writes it   $5 the record of what it tracks elsewhere
 */
export const guardScript = String.raw`
trap '' HUP INT QUIT TERM TSTP TTIN TTOU
set -f
roots= keep= clean=
while read -r word pid started; do
  case $word in
    child) roots="$roots $pid:$started" ;;
    keep) keep=1 ;;
    clean) clean=1 ;;
  esac
done

# A command name may hold a newline: what is only a part of a line has fewer fields, and must not end the shell.
fields() { [ $# -ge 20 ] || return 1; state=$1 ppid=$2 threads=\${18}; shift 19; started=$1; }

# Sets $found to the run's living processes, as pid:started. Repeats until nothing is added: a child may be
# listed before its parent.
look() {
  found= pids=' '
  # Another namespace's /proc tells about other processes.
  read -r self rest < /proc/self/stat && [ "$self" = $$ ] || return
  marked=$(set +f; grep -lsF -- "$3" /proc/[0-9]*/environ)
  guards=$(set +f; grep -lsF STINT_GUARD= /proc/[0-9]*/environ)
  table=$(set +f; grep -s '' /dev/null /proc/[0-9]*/stat)
  before=none
  while [ "$before" != "$found" ]; do
    before=$found
    IFS='
'
    for line in $table; do
      IFS=' '
      # From the file's name, not its text: a command name can spell another process's line.
      pid=\${line#/proc/} pid=\${pid%%/*}
      case $pid in '' | *[!0-9]*) continue ;; esac
      case "$pids" in *" $pid "*) continue ;; esac
      fields \${line##*) } || continue
      case "$state$threads" in Z1 | Z0 | X*) continue ;; esac
      case "
$guards
" in *"
/proc/$pid/environ
"*) continue ;; esac
      case "$roots " in *" $pid:$started "*) ;; *)
        case "$pids" in *" $ppid "*) ;; *)
          case "
$marked
" in *"
/proc/$pid/environ
"*) ;; *) continue ;; esac
        esac
      esac
      pids="$pids$pid "
      found="$found $pid:$started"
    done
    IFS=' '
  done
}

# To each process in $found.
tell() { for each in $found; do kill -s $1 \${each%:*}; done 2>/dev/null; }
nap() { sleep 0.05 2>/dev/null || sleep 1; }
# A zombie is over, whenever its new parent takes note of it.
remains() {
  for each in $found; do
    read -r line < /proc/\${each%:*}/stat || continue
    case $line in *') Z '*) ;; *) return 0 ;; esac
  done 2>/dev/null
  return 1
}

if [ -z "$clean" ]; then
  look "$@"
  # Found once, known for good: when its parent has died, nothing else links it to the run.
  roots="$roots$found"
  tell TERM
  tell CONT
  round=0
  while [ $round -lt 8 ] && remains; do nap; round=$((round + 1)); done
  round=0
  while look "$@"; [ -n "$found" ] && [ $round -lt 30 ]; do
    roots="$roots$found"
    tell KILL
    nap
    round=$((round + 1))
  done
fi

# A bind mount inside leads out of the scratch, and tracked paths lie outside of it: the sweep knows what to do
# about both.
if [ -z "$keep" ] && [ -d "$1" ] && [ ! -h "$1" ] && [ ! -e "$5" ] &&
  ! grep -qsF -e " $4/" -e " $4 " /proc/self/mountinfo; then
  mv -- "$1" "$2"
fi
rm -rf -- "$2" || { [ ! -h "$2" ] && chmod -R u+rwx -- "$2" && rm -rf -- "$2"; }
`.replaceAll('\\$', '$')
