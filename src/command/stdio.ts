import { columnsOf } from '../base/process/terminal.ts'

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
  /** Infinity where stdout is no terminal. */
  readonly rows: number
  readonly paint: Paint
  /** Whether --verbose was given: then an answer shows what only experts want to know. */
  readonly verbose: boolean
}

const usualRows = 24

/** The screen behind stdout or stderr, whatever these are. */
export function screenOf(fd: 1 | 2, verbose = false): Screen {
  const columns = columnsOf(fd)
  const paint = paintIf(wantsColour(columns !== undefined, process.env))
  if (columns === undefined)
    return { columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY, paint, verbose }
  const { rows } = fd === 1 ? process.stdout : process.stderr
  return { columns, rows: rows || usualRows, paint, verbose }
}
