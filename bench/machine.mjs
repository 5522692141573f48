import { readdirSync, readFileSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { basename } from 'node:path'

/** What a figure depends on, to be kept with it. */
export function describeMachine({ base, parent }) {
  return {
    at: new Date().toISOString(),
    node: process.versions.node,
    platform: `${process.platform} ${release()}`,
    cpus: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    load: loadavg(),
    tmp: parent,
    fileSystem: describeFileSystem(base),
  }
}

/** Its type, and the two traits that make it slow in deleting: without a journal a discard is waited for. */
function describeFileSystem(path) {
  const mount = mountOf(path)
  if (mount === undefined) return 'unknown file system'
  const traits = [
    mount.type === 'ext4' && !hasJournal(mount.source) ? 'no journal' : undefined,
    mount.options.includes('discard') ? 'discard' : undefined,
  ]
  return [mount.type, ...traits.filter(Boolean)].join(', ')
}

/** The last mount that is an ancestor of `path`, as /proc/self/mountinfo has it. */
function mountOf(path) {
  let found
  for (const line of read('/proc/self/mountinfo').split('\n')) {
    const [mounted, where] = line.split(' - ')
    const point = mounted.split(' ')[4]
    if (where === undefined || !`${path}/`.startsWith(point === '/' ? point : `${point}/`)) continue
    const [type, source, options] = where.split(' ')
    if (found === undefined || point.length >= found.point.length) {
      found = { point, type, source, options: options.split(',') }
    }
  }
  return found
}

function hasJournal(source) {
  try {
    return readdirSync('/proc/fs/jbd2').some((name) => name.startsWith(`${basename(source)}-`))
  } catch {
    return true
  }
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
