// Runs `stint demo` and draws its output as docs/demo.svg: `npm run demo-picture`, after a build.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const bin = join(root, 'dist/bin/stint.cjs')

const size = { font: 13, line: 19, column: 7.83, margin: 18, bar: 34 }
const escapeCharacter = '\x1b'
const codePattern = new RegExp(`(${escapeCharacter}\\[\\d+m)`, 'g')
const colours = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341' }

/** The output of the demo, without the paths, ids and pids that differ from run to run. */
function recordDemo() {
  const tmp = mkdtempSync(join(tmpdir(), 'stint-picture-'))
  try {
    const env = { ...process.env, STINT_TMP_ROOT: tmp, STINT_HOME: join(tmp, 'home'), FORCE_COLOR: '1' }
    const text = execFileSync(process.execPath, [bin, 'demo'], { env, encoding: 'utf8' })
    return text
      .replaceAll(/\/\S*\/workspace/g, '~/project')
      .replaceAll(/kill -9 \d+/g, 'kill -9 4711')
      .replaceAll(/ses_[0-9A-Z]{26}/g, 'ses_01…')
  } finally {
    rmSync(tmp, { recursive: true, force: true })
  }
}

/** Splits a line into pieces of text, each with its style. */
function piecesOf(line) {
  const pieces = []
  let style = {}
  for (const part of line.split(codePattern)) {
    const code = part.startsWith(escapeCharacter) ? part.slice(2, -1) : undefined
    if (code === undefined) {
      if (part !== '') pieces.push({ text: part, ...style })
    } else style = styleAfter(style, Number(code))
  }
  return pieces
}

function styleAfter(style, code) {
  if (code === 1) return { ...style, bold: true }
  if (code === 2) return { ...style, dim: true }
  if (code === 22) return { ...style, bold: false, dim: false }
  return { ...style, colour: colours[code] }
}

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function drawLine(line, index) {
  const y = size.bar + size.margin + (index + 1) * size.line
  const spans = piecesOf(line).map(({ text, bold, dim, colour }) => {
    const look = [colour && `fill="${colour}"`, bold && 'font-weight="bold"', dim && 'opacity="0.6"'].filter(
      Boolean,
    )
    return `<tspan${look.map((each) => ` ${each}`).join('')}>${escape(text)}</tspan>`
  })
  return `<text x="${size.margin}" y="${y}" xml:space="preserve">${spans.join('')}</text>`
}

function draw(text) {
  const lines = ['\x1b[2m$\x1b[22m \x1b[1mnpx stint demo\x1b[22m', ...text.trimEnd().split('\n')]
  const longest = Math.max(...lines.map((line) => line.replaceAll(codePattern, '').length))
  const width = Math.ceil(longest * size.column + 2 * size.margin)
  const height = size.bar + 2 * size.margin + lines.length * size.line
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, i) => `<circle cx="${20 + i * 18}" cy="17" r="6" fill="${fill}"/>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="What stint demo prints">`,
    `<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
    ...dots,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="${size.font}" fill="#e6edf3">`,
    ...lines.map(drawLine),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

writeFileSync(join(root, 'docs/demo.svg'), draw(recordDemo()))
