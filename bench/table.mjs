// Formats results as aligned plain text.

const perUnit = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, x: 1 }

export function renderMachine({ node, platform, cpus, cpu, load, tmp, fileSystem }) {
  return `node ${node}, ${platform}, ${cpus} x ${cpu}, load ${load[0].toFixed(1)}, files on ${fileSystem} (${tmp})\n`
}

/** One bench: a line for each contender, with the subject's cost as a multiple of that contender's. */
export function renderCase({ name, about, unit, subject, rounds, load, contenders, notes = [] }) {
  const header = ['', `${unit}`, 'p10..p90', `${subject} is`, 'p10..p90', 'target', '']
  const rows = contenders.map((contender) => [...figures(contender, perUnit[unit]), ...verdict(contender)])
  const lines = notes.map((note) => `  ${note}\n`).join('')
  return `${name}: ${about} (${rounds} rounds, load ${load.toFixed(1)})\n${align([header, ...rows])}${lines}`
}

function figures({ name, floor, cost, ratio }, scale) {
  const times = ratio === undefined ? ['', ''] : [`${digits(ratio.median)}x`, range(ratio, 1)]
  return [floor ? `${name} (floor)` : name, digits(cost.median / scale), range(cost, scale), ...times]
}

const range = ({ p10, p90 }, scale) => `${digits(p10 / scale)}..${digits(p90 / scale)}`

const verdict = ({ target, met }) =>
  target === undefined ? ['', ''] : [renderTarget(target), met ? 'met' : 'missed']

/** The target as a bound on the ratio beside it. */
function renderTarget({ atMost, faster }) {
  if (atMost !== undefined) return `<= ${atMost}x`
  return faster === 1 ? '< 1x' : `<= ${digits(1 / faster)}x (${faster}x faster)`
}

/** Three significant digits, and always the whole integer part. */
const digits = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

/** Aligns the first column and the verdicts to the left, figures to the right. */
function align(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const lines = rows.map((row) =>
    row.map((cell, column) =>
      column === 0 || column > 4 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
    ),
  )
  return lines.map((cells) => `  ${cells.join('  ')}`.trimEnd()).join('\n') + '\n'
}
