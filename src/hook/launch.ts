import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { Script } from 'node:vm'
import { saveCompiled } from '../base/process/compiled-code.ts'

/**
 * Starts the hook from a V8 code cache: an agent waits for the hook at every tool call, and compiling takes
 * longer than running it. The cache lies beside the code, where only a user who may change the code may
 * write, and is named after its hash. The first tool call that may write there makes it.
 */
declare const BUILDS: Readonly<Record<string, string>>

/** Larger than any of the files. */
const maxBytes = 1 << 20

const toSave: (() => void)[] = []

/** Each of the bundled modules requires what it uses, and `require` takes longer than most of them. */
const loaded: Record<string, unknown> = {}

// Only a tool call makes the cache: that of another event would lack the functions that tool calls need.
if (runMain().worthKeeping) for (const save of toSave) save()

/** Runs the hook. If its code cannot be read, the host decides what a hook that failed means. */
function runMain(): { worthKeeping: boolean } {
  try {
    return load('hook-main') as { worthKeeping: boolean }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    process.stderr.write(`stint-hook: cannot load its code: ${(error as Error).message}\n`)
    process.exitCode = 1
    return { worthKeeping: false }
  }
}

/** Loads a CommonJS module from its cache, or compiles it. */
function load(name: string): unknown {
  const file = join(__dirname, `${name}.cjs`)
  const cache = join(__dirname, `${name}-${BUILDS[name]}-${process.version}-${process.arch}.cache`)
  const source = `(function (require, module, __dirname) {${read(file).toString('latin1')}\n})`
  const script = new Script(source, { filename: file, cachedData: tryRead(cache) })
  if (script.cachedDataRejected !== false) toSave.push(() => saveCompiled(script, cache))
  const module = { exports: {} }
  const run = script.runInThisContext() as (...given: unknown[]) => void
  run(
    (path: string) =>
      (loaded[path] ??= path.startsWith('./hook-') ? load(path.slice(2, -'.cjs'.length)) : require(path)),
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

/** Uses only calls that the hook needs anyway: Node compiles its own functions at their first use. */
function read(path: string): Buffer {
  const fd = openSync(path, 'r')
  const bytes = Buffer.allocUnsafeSlow(maxBytes)
  const size = readSync(fd, bytes)
  closeSync(fd)
  return bytes.subarray(0, size)
}
