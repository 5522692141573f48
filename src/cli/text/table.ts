/** Text in columns under their titles; a column that is empty in every row is left out. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const shown = titles.map((_, column) => column).filter((column) => rows.some((row) => row[column] !== ''))
  const lines = [titles, ...rows].map((row) => shown.map((column) => row[column] ?? ''))
  const widths = shown.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)))
  return lines.map((line) =>
    line
      .map((cell, index) =>
        isAmount(titles[shown[index] ?? 0])
          ? cell.padStart(widths[index] ?? 0)
          : cell.padEnd(widths[index] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}

const amounts: ReadonlySet<string> = new Set([
  'SIZE',
  'FILES',
  'AGE',
  'TURNS',
  'JOURNAL',
  'AUDIT',
  'BLOBS',
  'SNAPSHOTS',
  'QUARANTINE',
  'OTHER',
])

const isAmount = (title = ''): boolean => amounts.has(title)
