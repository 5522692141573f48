import type { Paint } from '../../command/stdio.ts'
import type { Check, Level } from './check.ts'

const marks: Readonly<Record<Level, { word: string; paint: keyof Paint }>> = {
  ok: { word: 'ok', paint: 'green' },
  warn: { word: 'warn', paint: 'yellow' },
  fail: { word: 'FAIL', paint: 'red' },
}

const nameWidth = 12

/** A line that says what was found, and under it what to do. */
export function renderCheck({ name, level, text, fix }: Check, paint: Paint): string[] {
  const { word, paint: colour } = marks[level]
  const line = `${paint[colour](word.padEnd(4))}  ${name.padEnd(nameWidth)}  ${text}`
  return fix === null ? [line] : [line, `${' '.repeat(6 + nameWidth + 2)}${paint.dim('→')} ${fix}`]
}
