import { closeSync, fsyncSync, openSync, readSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Script } from 'node:vm'

/**
 * Starts the hook from code that V8 has compiled before: an agent waits for this at every tool call, and compiling takes longer than all the hook does.
 * The cache lies beside the code, where only whoever may change the code may write, and is named after it: made by the first tool call that
 * can, never needed.
 */
declare const BUILD: string

/** More than either file has. */
const maxBytes = 1 << 20

const main = join(__dirname, 'hook-main.cjs')
const cache = join(__dirname, `hook-main-${BUILD}-${process.version}-${process.arch}.cache`)

const cachedData = tryRead(cache)
const source = read(main).toString('latin1')
const script = new Script(`(function (require) {${source}\n})`, { filename: main, cachedData })
if (script.cachedDataRejected !== false) process.once('exit', save)
;(script.runInThisContext() as (require: NodeJS.Require) => void)(require)

function tryRead(path: string): Buffer | undefined {
  try {
    return read(path)
  } catch {
    return undefined
  }
}

/** With the calls that the hook needs anyway: Node compiles each of its own functions when it is first used. */
function read(path: string): Buffer {
  const fd = openSync(path, 'r')
  const bytes = Buffer.allocUnsafeSlow(maxBytes)
  const size = readSync(fd, bytes)
  closeSync(fd)
  return bytes.subarray(0, size)
}

/** At the end, when the functions that a hook needs have been compiled. Synced: half a cache could be taken for a whole one. */
function save(): void {
  const staged = `${cache}.${process.pid}`
  try {
    const fd = openSync(staged, 'wx', 0o644)
    writeSync(fd, script.createCachedData())
    fsyncSync(fd)
    closeSync(fd)
    renameSync(staged, cache)
  } catch {
    // Installed where we may not write: then every start compiles.
  }
}
