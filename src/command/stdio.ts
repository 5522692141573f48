import { fstatSync } from 'node:fs'

/** The major device number of `/dev/null`, `/dev/zero` and their kind on Linux. */
const memoryDevices = 1

/** Whether a descriptor can be a terminal, so that `node:tty`, a tenth of a start, need not be loaded to ask. */
function canBeTerminal(fd: 0 | 1 | 2): boolean {
  try {
    const stat = fstatSync(fd)
    if (!stat.isCharacterDevice()) return false
    return process.platform !== 'linux' || stat.rdev >> 8 !== memoryDevices
  } catch {
    // fstat failed, because the descriptor is closed or not a plain one: let isatty decide.
    return true
  }
}

/** Is this descriptor a terminal? */
export async function isTerminal(fd: 0 | 1 | 2): Promise<boolean> {
  if (!canBeTerminal(fd)) return false
  const { isatty } = await import('node:tty')
  return isatty(fd)
}

export const usualColumns = 80

/** The width of the terminal on stdout or stderr; undefined if it is something else. */
export function columnsOf(fd: 1 | 2): number | undefined {
  if (!canBeTerminal(fd)) return undefined
  const stream = fd === 1 ? process.stdout : process.stderr
  return stream.isTTY ? stream.columns || usualColumns : undefined
}

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const

/** Functions that colour a string, or return it unchanged where colours are not wanted. */
export type Paint = Readonly<Record<keyof typeof codes, (text: string) => string>>

/** FORCE_COLOR decides, then NO_COLOR, then whether the output is a terminal with colours. */
export function wantsColour(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR: force, NO_COLOR: none, TERM: terminal } = env
  if (force) return force !== '0' && force !== 'false'
  return !none && isTerminal && terminal !== 'dumb'
}

export function paintIf(wanted: boolean): Paint {
  const entries = Object.entries(codes).map(([name, [on, off]]) => [
    name,
    (text: string) => (wanted ? `\x1b[${on}m${text}\x1b[${off}m` : text),
  ])
  return Object.fromEntries(entries) as Paint
}

/** Where text for a person appears: how wide it can be, and whether it can be coloured. */
export interface Screen {
  /** Infinity where stdout is no terminal: what is piped to another program is never cut. */
  readonly columns: number
  readonly paint: Paint
}

/** The screen behind stdout or stderr, whatever these are. */
export function screenOf(fd: 1 | 2): Screen {
  const columns = columnsOf(fd)
  return {
    columns: columns ?? Number.POSITIVE_INFINITY,
    paint: paintIf(wantsColour(columns !== undefined, process.env)),
  }
}
