import { closeSync, openSync, readSync } from 'node:fs'
import { Script } from 'node:vm'
import { saveCompiled } from '../base/process/compiled-code.ts'
import type { Ended } from './main.ts'

/**
 * Starts the hook from a V8 code cache: an agent waits for the hook at every tool call, and compiling takes
 * longer than running it. The cache lies beside the code, where only a user who may change the code may
 * write, and is named after its hash. The first events that may write there make it.
 */
declare const BUILDS: Readonly<Record<string, string>>

/** A script, and how many events of each kind have put their functions into its cache. */
interface Compiled {
  script: Script
  cache: string
  counts: Buffer
}

/** The events of a turn, each of which needs functions of its own. The cache ends with a count of each. */
const kinds: readonly Ended[] = ['allowed', 'refused', 'prompt', 'stop']

/** The first calls need different functions: in a new home, in a free workspace, in the session's own. */
const maxEvents = 3

/** Larger than any of the files. Used for one after the other, as a new one costs a fault for each page. */
const buffer = Buffer.allocUnsafeSlow(1 << 20)

const compiled: Compiled[] = []

/** Each of the bundled modules requires what it uses, and `require` takes longer than most of them. */
const loaded: Record<string, unknown> = {}

void runMain().then((ended) => {
  const kind = kinds.indexOf(ended)
  if (kind >= 0) for (const each of compiled) addToCache(each, kind)
  // Faster than to leave the end to Node, which would take the heap apart.
  process.exit()
})

/** Runs the hook. If its code cannot be read, the host decides what a hook that failed means. */
async function runMain(): Promise<Ended> {
  try {
    return await (load('hook-main') as { ended: Promise<Ended> }).ended
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    process.stderr.write(`stint-hook: cannot load its code: ${(error as Error).message}\n`)
    process.exitCode = 1
    return undefined
  }
}

/** Loads a CommonJS module from its cache, or compiles it. The build has put its text into a function. */
function load(name: string): unknown {
  const file = `${__dirname}/${name}.cjs`
  const cache = `${__dirname}/${name}-${BUILDS[name]}-${process.version}-${process.arch}.cache`
  const source = read(file).toString()
  const bytes = tryRead(cache)
  const script = new Script(source, { filename: file, cachedData: bytes?.subarray(0, -kinds.length) })
  const isUsed = script.cachedDataRejected === false && bytes !== undefined
  const counts = isUsed ? Buffer.from(bytes.subarray(-kinds.length)) : Buffer.alloc(kinds.length)
  compiled.push({ script, cache, counts })
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

/** Saves a script with the functions that this event has compiled, unless enough of its kind did so. */
function addToCache({ script, cache, counts }: Compiled, kind: number): void {
  const count = counts[kind] ?? 0
  if (count >= maxEvents) return
  counts[kind] = count + 1
  saveCompiled({ createCachedData: () => Buffer.concat([script.createCachedData(), counts]) }, cache)
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
  const size = readSync(fd, buffer)
  closeSync(fd)
  return buffer.subarray(0, size)
}
