import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { escapeMountPath } from '../base/fs/mounts.ts'
import type { Identity } from '../base/process/liveness.ts'
import { guardMark } from '../base/process/process-table.ts'
import type { Scratch } from '../scratch/index.ts'

/** A small process that outlives this one by a moment, and cleans up if this one is killed. */
export interface Guard {
  /** False if the guard could not be started or has ended: then it does not empty the trash. */
  readonly alive: boolean
  /** Makes the guard end this child and its descendants if we die. */
  watch(child: Identity): void
  /** Makes the guard leave the scratch where it is. */
  keepScratch(): void
  /** Tells the guard that only the trash is left to empty: processes have ended, the scratch is moved. */
  allEnded(): void
}

/** Starts the guard in a session of its own. It shares nothing with this process except one pipe. */
export function startGuard(scratch: Scratch, mark: string, onFailure: () => void): Guard | undefined {
  if (process.platform === 'win32') return undefined
  const { path, root, requestId } = scratch
  const trashed = join(root.trash, requestId)
  const tracked = join(root.tracked, requestId)
  const args = ['-c', guardScript, 'stint-guard', path, trashed, mark, escapeMountPath(path), tracked]
  const guard = spawn('/bin/sh', args, {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: `/usr/bin:/bin:${process.env.PATH ?? ''}`, [guardMark]: requestId },
  })
  let alive = true
  guard.on('error', () => {
    alive = false
    onFailure()
  })
  guard.on('exit', () => (alive = false))
  guard.unref()
  const write = lineWriter(guard)
  return {
    get alive() {
      return alive
    },
    watch: ({ pid, started }) => write(`child ${pid} ${started ?? '-'}`),
    keepScratch: () => write('keep'),
    allEnded: () => write('clean'),
  }
}

function lineWriter({ stdin }: ChildProcess): (line: string) => void {
  // The guard may have been killed: then the pipe has no reader, and there is nothing to do about that.
  stdin?.on('error', () => {})
  // The pipe must not keep this process alive: the guard waits for its end.
  ;(stdin as unknown as { unref?: () => void })?.unref?.()
  return (line) => stdin?.write(`${line}\n`)
}

/**
 * The guard as a POSIX shell script. It reads lines until the pipe closes, as it does however the run dies,
 * then ends the remaining processes of the run and removes its scratch. It signals single processes that it
 * has just listed, never a process group: on a terminal, the script that called stint is in the same group.
 *
 *   $1 scratch   $2 its path in the trash   $3 the mark in the environment of the run's children
 *   $4 the scratch as /proc/self/mountinfo spells it   $5 the record of paths that the run tracks elsewhere
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

# A command name may hold a newline. A part of such a line has too few fields, and a shift would end the shell.
fields() { [ $# -ge 20 ] || return 1; state=$1 ppid=$2 threads=\${18}; shift 19; started=$1; }

# Sets $found to the run's living processes, as pid:started. Repeats until nothing is added: a child may be
# listed before its parent.
look() {
  found= pids=' '
  # The /proc of another pid namespace shows other processes.
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
      # The pid comes from the file's name: a command name can imitate the line of another process.
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

# Sends a signal to each process in $found.
tell() { for each in $found; do kill -s $1 \${each%:*}; done 2>/dev/null; }
nap() { sleep 0.05 2>/dev/null || sleep 1; }
# Is any process in $found left? A zombie has ended, even if its new parent has not reaped it yet.
remains() {
  for each in $found; do
    read -r line < /proc/\${each%:*}/stat || continue
    case $line in *') Z '*) ;; *) return 0 ;; esac
  done 2>/dev/null
  return 1
}

if [ -z "$clean" ]; then
  look "$@"
  # Remember each process that was found: when its parent has died, nothing else may link it to the run.
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

# A bind mount in the scratch leads out of it, and tracked paths lie outside: both are left to the sweep.
if [ -z "$keep" ] && [ -d "$1" ] && [ ! -h "$1" ] && [ ! -e "$5" ] &&
  ! grep -qsF -e " $4/" -e " $4 " /proc/self/mountinfo; then
  mv -- "$1" "$2"
fi
[ -e "$1" ] || rm -f -- "$1.owner"
rm -rf -- "$2" || { [ ! -h "$2" ] && chmod -R u+rwx -- "$2" && rm -rf -- "$2"; }
`.replaceAll('\\$', '$')
