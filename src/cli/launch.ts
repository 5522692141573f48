import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Script } from 'node:vm'
import { explained, ifPossible } from '../base/errors/if-possible.ts'
import { codedError, StintError } from '../base/errors/stint-error.ts'
import { saveCompiled } from '../base/process/compiled-code.ts'

/**
 * Starts the command line from code that V8 compiled in an earlier run, which saves much of the time to
 * start. Each cache lies beside its code, so only a user who may change the code can change the cache, and
 * has the hash of the code in its name. The first command that can write it makes it; no command needs it.
 */
declare const BUILDS: Readonly<Record<string, string>>

interface Loaded {
  exports: unknown
}

type Body = (exports: unknown, require: unknown, module: Loaded) => void

const loaded = new Map<string, Loaded>()
const unsaved: { script: Script; cache: string }[] = []

/** Modules of Node that take 1 to 5 ms to load. Most commands import them and use neither. */
const slowModules = new Set(['node:child_process', 'node:os'])

/** Replaces `require` in stint's files: loads these from their caches, and slow modules at first use. */
const requireCompiled = Object.assign((id: string): unknown => {
  const name = /^\.\/([\w-]+)\.cjs$/.exec(id)?.[1]
  if (name !== undefined && name in BUILDS) return load(name)
  return slowModules.has(id) ? new Proxy({}, { get: (_module, used) => require(id)[used] }) : require(id)
}, require)

process.once('exit', () => {
  for (const { script, cache } of unsaved) saveCompiled(script, cache)
})
try {
  load('main')
} catch (error) {
  if (!(error instanceof StintError)) throw error
  // The code that would answer could not be loaded.
  const hint = error.hint === '' ? '' : `  ${error.hint}\n`
  process.stderr.write(`stint: ${error.message} (${error.code})\n${hint}`)
  process.exitCode = error.exit
}

function load(name: string): unknown {
  const earlier = loaded.get(name)
  if (earlier !== undefined) return earlier.exports
  const filename = join(__dirname, `${name}.cjs`)
  const variant = variantOf(name)
  const cache = join(__dirname, `${variant}-${BUILDS[name]}-${process.version}-${process.arch}.cache`)
  const cachedData = ifPossible(() => readFileSync(cache))
  const source = `(function (exports, require, module) {${readSource(filename)}\n})`
  const script = new Script(source, { filename, cachedData })
  // `stint` alone, `--help` and `--version` use too little to be worth a file.
  if (cachedData === undefined && (name !== 'main' || /^\w/.test(process.argv[2] ?? '')))
    unsaved.push({ script, cache })
  const module: Loaded = { exports: {} }
  loaded.set(name, module)
  ;(script.runInThisContext() as Body)(module.exports, requireCompiled, module)
  return module.exports
}

/** The name of a cache, which has the functions that were compiled at exit: each command uses others. */
function variantOf(name: string): string {
  const [, command = ''] = /^([a-z]+)$/.exec(process.argv[2] ?? '') ?? []
  // Of `main`, all commands but `run` use the same little.
  const isOwn = name === 'main' ? command === 'run' : ['claims', 'commands'].includes(name) && command !== ''
  return isOwn ? `${name}-${command}` : name
}

/** Reads a part of stint: a process without a free descriptor can have started and still fail here. */
function readSource(path: string): string {
  return explained(
    (error) => codedError(error, `load ${path}`),
    () => readFileSync(path, 'utf8'),
  )
}
