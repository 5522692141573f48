/**
 * Text in columns under their titles. A column that is empty in every row is left out. A title that begins with `>` stands over
 * amounts, which are aligned on the right.
 */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const columns = titles.flatMap((title, index) => {
    const cells = rows.map((row) => row[index] ?? '')
    return cells.every((cell) => cell === '') ? [] : [aligned(title, cells)]
  })
  return ['', ...rows].map((_, line) =>
    columns
      .map((column) => column[line] ?? '')
      .join('  ')
      .trimEnd(),
  )
}

/** A column: its title, then its cells, all equally wide. */
function aligned(title: string, cells: readonly string[]): string[] {
  const isAmount = title.startsWith('>')
  const column = [isAmount ? title.slice(1) : title, ...cells]
  const width = Math.max(...column.map(({ length }) => length))
  return column.map((cell) => (isAmount ? cell.padStart(width) : cell.padEnd(width)))
}
