// Runs `stint demo` and draws its scene of the undo as docs/undo.svg: `npm run demo-picture`, after a build.
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

/** The scene of the undo, without the ids and times that differ from run to run. */
function recordDemo() {
  const tmp = mkdtempSync(join(tmpdir(), 'stint-picture-'))
  try {
    const env = { ...process.env, STINT_TMP_ROOT: tmp, STINT_HOME: join(tmp, 'home'), FORCE_COLOR: '1' }
    const text = execFileSync(process.execPath, [bin, 'demo'], { env, encoding: 'utf8' })
    const [, scene = ''] = /\n[^\n]*2\. Undo one[^\n]*\n([^]*?)\n\n[^\n]*3\. /.exec(text) ?? []
    return scene
      .replace(/^.*git init.*\n/m, '')
      .replaceAll(/^( *)[0-9a-z]{8}(.* ada )/gm, '$15k2m9x1p$2')
      .replaceAll(/^( *)[0-9a-z]{8}(.* bob )/gm, '$19h4t0c7w$2')
      .replaceAll(/\d{4}(-\d\d){2} (\d\d:){2}\d\d/g, '2026-11-18 09:41:00')
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
  const lines = text.trimEnd().split('\n')
  const longest = Math.max(...lines.map((line) => line.replaceAll(codePattern, '').length))
  const width = Math.ceil(longest * size.column + 2 * size.margin)
  const height = size.bar + 2 * size.margin + lines.length * size.line
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, i) => `<circle cx="${20 + i * 18}" cy="17" r="6" fill="${fill}"/>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="An undo of one session that keeps what another one changed in the same file">`,
    `<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
    ...dots,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="${size.font}" fill="#e6edf3">`,
    ...lines.map(drawLine),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

writeFileSync(join(root, 'docs/undo.svg'), draw(recordDemo()))
