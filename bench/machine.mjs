import { readdirSync, readFileSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The facts about the machine that a figure depends on. */
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

/**
 * The machine counts as idle if its cores are together less busy than this, for this many seconds in a row.
 */
const idleShare = 0.05
const idleSeconds = 3

/**
 * Waits until the machine is idle; calls `onSecond` with the share of busy time, and with undefined at the
 * end.
 */
export async function untilIdle(onSecond) {
  for (let quiet = 0; quiet < idleSeconds;) {
    const before = cpuTimes()
    await sleep(1000)
    const after = cpuTimes()
    const busy = 1 - (after.idle - before.idle) / (after.total - before.total)
    quiet = busy < idleShare ? quiet + 1 : 0
    onSecond(busy)
  }
  onSecond(undefined)
}

/** Ticks of all cores since boot. Not the load average, which takes minutes to fall. */
function cpuTimes() {
  const times = cpus().map((cpu) => cpu.times)
  const sum = (values) => values.reduce((total, value) => total + value, 0)
  return { idle: sum(times.map(({ idle }) => idle)), total: sum(times.flatMap(Object.values)) }
}

/** The type, and the two traits that make deletion slow: without a journal, each one waits for a discard. */
function describeFileSystem(path) {
  const mount = mountOf(path)
  if (mount === undefined) return 'unknown file system'
  const traits = [
    mount.type === 'ext4' && !hasJournal(mount.source) ? 'no journal' : undefined,
    mount.options.includes('discard') ? 'discard' : undefined,
  ]
  return [mount.type, ...traits.filter(Boolean)].join(', ')
}

/** The innermost mount in /proc/self/mountinfo that contains `path`. */
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
