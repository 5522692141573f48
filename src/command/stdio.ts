import { fstatSync } from 'node:fs'

/** The major device number of `/dev/null`, `/dev/zero` and their kind on Linux. */
const memoryDevices = 1

/** Is this descriptor a terminal? Loads `node:tty`, a tenth of a start, only for what can be one. */
export async function isTerminal(fd: 0 | 1 | 2): Promise<boolean> {
  try {
    const stat = fstatSync(fd)
    if (!stat.isCharacterDevice()) return false
    if (process.platform === 'linux' && stat.rdev >> 8 === memoryDevices) return false
  } catch {
    // fstat failed, because the descriptor is closed or not a plain one: let isatty decide.
  }
  const { isatty } = await import('node:tty')
  return isatty(fd)
}

export const usualColumns = 80

/** The width of the terminal on stdout or stderr; 80 columns if it is something else. */
export async function terminalColumns(fd: 1 | 2): Promise<number> {
  if (!(await isTerminal(fd))) return usualColumns
  return (fd === 1 ? process.stdout : process.stderr).columns || usualColumns
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

/** Colours for strings that go to stdout or stderr, whatever these are. */
export const paintFor = async (fd: 1 | 2): Promise<Paint> =>
  paintIf(wantsColour(await isTerminal(fd), process.env))

/** Colours for `render`, which is called only if stdout is a terminal. */
export const terminalPaint = (): Paint => paintIf(wantsColour(true, process.env))
