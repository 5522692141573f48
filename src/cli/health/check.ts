import type { Paint, Screen } from '../../command/context.ts'
import { wrap } from '../../base/text/wrap.ts'
import { shortenPaths } from '../text/format.ts'
import { codedError, errorMessage, StintError } from '../../base/errors/stint-error.ts'

/** `warn`: it works, but not as well, or not for as long, as it could. `fail`: it does not work. */
export type Level = 'ok' | 'warn' | 'fail'

/** The result of one check. */
export interface Check {
  /** The subject of the check: `home`, `clock`. */
  name: string
  level: Level
  /** What was found. */
  text: string
  /** What the user can do about it; null if there is nothing to do. */
  fix: string | null
}

export const ok = (name: string, text: string): Check => ({ name, level: 'ok', text, fix: null })
export const warn = (name: string, text: string, fix: string): Check => ({ name, level: 'warn', text, fix })
export const fail = (name: string, text: string, fix: string): Check => ({ name, level: 'fail', text, fix })

export const isFinding = ({ level }: Check): boolean => level !== 'ok'

/** Collects checks. A look that throws becomes a failed check, so one fault never hides the rest. */
export class Examination {
  readonly checks: Check[] = []

  /** Returns what a look finds; undefined if it throws, which becomes a check if it `isReported`. */
  async look<Found>(
    name: string,
    find: () => Found | Promise<Found>,
    isReported = true,
  ): Promise<Found | undefined> {
    try {
      return await find()
    } catch (error) {
      if (isReported) this.checks.push(failedLook(name, error))
      return undefined
    }
  }

  /** Adds the checks that a look returns, or the failed check if it throws. */
  async check(
    name: string,
    find: () => Check | readonly Check[] | Promise<Check | readonly Check[]>,
  ): Promise<void> {
    this.checks.push(...[(await this.look(name, find)) ?? []].flat())
  }
}

function failedLook(name: string, thrown: unknown): Check {
  const error = codedError(thrown, `look at the ${name}`)
  const fix =
    error instanceof StintError ? error.hint : 'Set STINT_DEBUG=1 to see where it came from, and report it.'
  return fail(name, errorMessage(error), fix)
}

const marks: Readonly<Record<Level, { word: string; paint: keyof Paint }>> = {
  ok: { word: 'ok', paint: 'green' },
  warn: { word: 'warn', paint: 'yellow' },
  fail: { word: 'FAIL', paint: 'red' },
}

const nameWidth = 12
/** The narrowest column in which sentences can still be read. */
const leastColumns = 20

/** The result of a check, and below it the fix; long lines are wrapped below their beginning. */
export function renderCheck(
  { name, level, text, fix }: Check,
  { columns, paint }: Pick<Screen, 'columns' | 'paint'>,
): string[] {
  const { word, paint: colour } = marks[level]
  const label = `${paint[colour](word.padEnd(4))}  ${name.padEnd(nameWidth)}  `
  const labelColumns = 4 + 2 + nameWidth + 2
  const margin = ' '.repeat(labelColumns)
  const room = Math.max(leastColumns, columns - labelColumns)
  const [first = '', ...rest] = wrap(shortenPaths(text, room), room)
  const fixes = fix === null ? [] : wrap(`→ ${fix}`, room, 2).map((line) => line.replace('→', paint.dim('→')))
  return [`${label}${first}`, ...[...rest, ...fixes].map((line) => `${margin}${line}`)]
}
