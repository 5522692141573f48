import { isTerminal } from './is-terminal.ts'

/** Ways to set text apart; each returns the text as it is where colours are not wanted. */
export type Paint = Readonly<Record<keyof typeof codes, (text: string) => string>>

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const

/** As everybody does it: FORCE_COLOR decides, then NO_COLOR, then whether it is a terminal that knows colours. */
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

/** For text that goes to stdout or stderr, whatever that is. */
export const paintFor = async (fd: 1 | 2): Promise<Paint> =>
  paintIf(wantsColour(await isTerminal(fd), process.env))

/** What `render` is asked for is shown on a terminal: elsewhere an envelope is. */
export const terminalPaint = (): Paint => paintIf(wantsColour(true, process.env))
