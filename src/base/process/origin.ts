import { hostname, userInfo } from 'node:os'
import { ifPossible } from '../errors/if-possible.ts'
import { geteuid, readSystemFile } from './platform.ts'

/** Where a process works, for people who look for it. A property is absent if it is not known. */
interface ProcessOrigin {
  terminal?: string
  tmux_pane?: string
  hostname?: string
  user?: string
  directory?: string
}

/** Finds out where a process works; the environment is that of this process, which works with it. */
export function readOrigin(
  pid: number,
  env: NodeJS.ProcessEnv = process.env,
  directory: string | undefined = ifPossible(() => process.cwd()),
): ProcessOrigin {
  const pane = env.TMUX_PANE ?? ''
  return {
    ...(pid === process.pid ? (ownPlace ??= readPlace(pid)) : readPlace(pid)),
    ...(/^%\d{1,6}$/.test(pane) && { tmux_pane: pane }),
    ...(directory && { directory }),
  }
}

let ownPlace: ProcessOrigin | undefined

/** What does not change while a process lives: its terminal, host and user. */
function readPlace(pid: number): ProcessOrigin {
  const terminal = terminalOf(pid)
  const host = hostName()
  return { ...(terminal && { terminal }), ...(host && { hostname: host }), user: userName() }
}

// Two files tell what `node:os` would tell, in a tenth of the time that a hook needs to load that module.

const hostName = (): string | undefined =>
  readSystemFile('/proc/sys/kernel/hostname')?.trim() || ifPossible(hostname)

/** The name of this user; `uid N` if the user id has no entry in the system's user database. */
export const userName = (): string =>
  nameInPasswd(readSystemFile('/etc/passwd') ?? '', geteuid()) ??
  ifPossible(() => userInfo().username) ??
  `uid ${geteuid()}`

/** The first user with this id in a file like /etc/passwd, which need not have all users of a network. */
export const nameInPasswd = (passwd: string, uid: number): string | undefined =>
  new RegExp(`^([^:\\n+-][^:\\n]*):[^:\\n]*:${uid}:`, 'm').exec(passwd)?.[1]

/** The controlling terminal of a process, such as `pts/3`; undefined if it has none or /proc is missing. */
export function terminalOf(pid: number): string | undefined {
  const stat = readSystemFile(`/proc/${pid}/stat`) ?? ''
  // After the name in parentheses: state, parent, process group, session, terminal.
  const device = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[4])
  return device > 0 ? terminalName(device) : undefined
}

/** The name of a terminal by its device number, as the kernel packs it into /proc/<pid>/stat. */
export function terminalName(device: number): string | undefined {
  const major = (device >> 8) & 0xfff
  const minor = (device & 0xff) | ((device >> 12) & 0xfff00)
  if (major >= 136 && major < 144) return `pts/${(major - 136) * 256 + minor}`
  if (major !== 4) return undefined
  return minor < 64 ? `tty${minor}` : `ttyS${minor - 64}`
}
