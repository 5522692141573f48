import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { Script } from 'node:vm'
import { saveCompiled } from '../base/process/compiled-code.ts'

/**
 * Starts the hook from code that V8 has compiled before: an agent waits for this at every tool call, and
 * compiling takes longer than all the hook does. The cache lies beside the code, where only whoever may
 * change the code may write, and is named after it: made by the first tool call that can, never needed.
 */
declare const BUILDS: Readonly<Record<string, string>>

/** More than any of the files has. */
const maxBytes = 1 << 20

const toSave: (() => void)[] = []

const { worthKeeping } = load('hook-main') as { worthKeeping: boolean }
// Another event would leave a cache without what a tool call needs, for good.
if (worthKeeping) for (const save of toSave) save()

/** A module of ours. */
function load(name: string): unknown {
  const file = join(__dirname, `${name}.cjs`)
  const cache = join(__dirname, `${name}-${BUILDS[name]}-${process.version}-${process.arch}.cache`)
  const source = `(function (require, module, __dirname) {${read(file).toString('latin1')}\n})`
  const script = new Script(source, { filename: file, cachedData: tryRead(cache) })
  if (script.cachedDataRejected !== false) toSave.push(() => saveCompiled(script, cache))
  const module = { exports: {} }
  const run = script.runInThisContext() as (...given: unknown[]) => void
  run(
    (path: string) => (path === './hook-record.cjs' ? load('hook-record') : require(path)),
    module,
    __dirname,
  )
  return module.exports
}

function tryRead(path: string): Buffer | undefined {
  try {
    return read(path)
  } catch {
    return undefined
  }
}

/**
 * With the calls that the hook needs anyway: Node compiles each of its own functions when it is first used.
 */
function read(path: string): Buffer {
  const fd = openSync(path, 'r')
  const bytes = Buffer.allocUnsafeSlow(maxBytes)
  const size = readSync(fd, bytes)
  closeSync(fd)
  return bytes.subarray(0, size)
}
