import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { getSystemErrorName } from 'node:util'
import { type ErrorCode, errorTable } from '../../src/base/errors/error-table.ts'
import { acquireLease, fileStore } from '../../src/lease/index.ts'
import { filesystemStore } from '../../src/session/files/medium.ts'
import { buildFailCall } from './build-c.ts'
import { copyTree } from './copy-tree.ts'
import { validEnvelope } from './envelope.ts'
import { type HomeFacts, isUnchanged, readHomeFacts } from './home-facts.ts'
import { type Finished, stintBin, until, World } from './world.ts'

/** A file call of stint, as `fail-call.c` has logged it. */
interface CountedCall {
  number: number
  /** How many errors a call of this kind can have. */
  errors: number
  /** The error that it got, such as `EIO`. */
  error: string | undefined
  name: string
  path: string
}

/** The answer of a command. */
export interface Answer {
  /** Undefined if the command succeeded. */
  code: ErrorCode | undefined
  message: string
  retryable: boolean
  // oxlint-disable-next-line typescript/no-explicit-any -- each command has data of its own
  data: any
  warnings: readonly string[]
  result: Finished
}

/** The end of a command, and what it has left. */
export interface Ended {
  answer: Answer
  /** The answer of the same command without a failed call. */
  clean: Answer
  before: HomeFacts
  after: HomeFacts
  /** The directory with the `home`, `user` and `temp` of the command. */
  place: string
  /** The error of the failed call, such as `EIO`. */
  error?: string
}

/** A command whose file calls are failed, one in each run. */
export interface FaultedCommand {
  title: string
  /** The program, run by Node; stint by default. */
  program?: string
  /** `PLACE` and `WORLD` stand for the directory of the run and the one that all runs share. */
  args: readonly string[]
  input?: string
  /** Adds to the place from which all runs start. */
  prepare?: (place: string, world: FaultWorld) => Promise<void> | void
  /** The code with which the command ends if no call fails. */
  clean?: ErrorCode
  /** A hook: its exit code is a verdict, and a process of it may go on after the answer. */
  isHook?: boolean
  /** What is wrong with the end of this command, besides what is wrong with the end of any. */
  faults: (ended: Ended) => string[]
}

/** A world with a template place; each run gets a copy of it. */
export class FaultWorld extends World {
  readonly template = join(this.tmp, 'template')
  /** The directory that commands run in. */
  readonly workspace = join(this.tmp, 'work')
  readonly #library = buildFailCall(this.tmp)
  #places = 0

  constructor() {
    super()
    for (const path of [this.workspace, join(this.tmp, 'free'), this.template]) mkdirSync(path)
    for (const name of ['user', 'temp']) mkdirSync(join(this.template, name), { mode: 0o700 })
  }

  newPlace(from = this.template): string {
    this.#places += 1
    const place = join(this.tmp, `place-${this.#places}`)
    copyTree(from, place)
    return place
  }

  /** Runs a command; with `fault`, the call with that number gets that error of its kind. */
  async run(
    { program = stintBin, args, input, isHook }: Omit<FaultedCommand, 'faults'>,
    place: string,
    fault: Fault = { at: 0, error: 0 },
  ): Promise<{ answer: Answer; calls: CountedCall[] }> {
    const [count, log, temp] = ['count', 'log', 'temp'].map((name) => join(place, name)) as [
      string,
      string,
      string,
    ]
    writeFileSync(count, Buffer.alloc(8))
    writeFileSync(log, '')
    const fill = (text: string): string => text.replaceAll('PLACE', place).replaceAll('WORLD', this.tmp)
    const running = this.start(process.execPath, [program, ...args.map(fill)], {
      cwd: this.workspace,
      input: input && fill(input),
      env: {
        STINT_HOME: join(place, 'home'),
        STINT_TMP_ROOT: temp,
        HOME: join(place, 'user'),
        PLACE: place,
        // With io_uring, libuv would make its calls without libc.
        UV_USE_IO_URING: '0',
        LD_PRELOAD: this.#library,
        FAULT_DIRECTORIES: ['home', 'user', 'temp'].map((name) => join(place, name)).join(':'),
        FAULT_FILES: partsOfStint.join(':'),
        FAULT_PROGRAM: realpathSync(process.execPath),
        FAULT_COUNT: count,
        FAULT_LOG: log,
        FAULT_AT: String(fault.at),
        FAULT_ERROR: String(fault.error),
      },
    })
    const result = await running.finished
    if (isHook) await until('no process uses the place', () => !isInUse(temp))
    return { answer: readAnswer(result), calls: readCalls(log) }
  }
}

/** The number of a call, and which of its possible errors it gets. */
interface Fault {
  at: number
  error: number
}

/** The files that stint loads when a command needs them. Node itself loads the launchers. */
const partsOfStint = readdirSync(dirname(stintBin))
  .filter((name) => name.endsWith('.cjs') && !['stint.cjs', 'stint-hook.cjs'].includes(name))
  .map((name) => join(dirname(stintBin), name))

function isInUse(temp: string): boolean {
  return readdirSync('/proc').some((name) => {
    try {
      return (
        /^\d+$/.test(name) &&
        readFileSync(`/proc/${name}/environ`, 'utf8').includes(`STINT_TMP_ROOT=${temp}\0`)
      )
    } catch {
      return false
    }
  })
}

function readCalls(log: string): CountedCall[] {
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => {
    const [number, errors, error, name = '', ...path] = line.split(' ')
    return {
      number: Number(number),
      errors: Number(errors),
      error: error === '0' ? undefined : getSystemErrorName(-Number(error)),
      name,
      path: path.join(' '),
    }
  })
}

/** Reads the answer of a command: its envelope, or the code in its message. */
function readAnswer(result: Finished): Answer {
  if (result.stdout.startsWith('{"ok":')) {
    const { data, error, warnings } = validEnvelope(result.stdout)
    const code = error?.code as ErrorCode | undefined
    return {
      code,
      message: error?.message ?? '',
      retryable: error?.retryable ?? false,
      data,
      warnings,
      result,
    }
  }
  // A warning may end with the code of its cause.
  const messages = result.stderr.replaceAll(/^.*: warning: .*$/gm, '')
  const code = /\(([A-Z_]{5,})\)$/m.exec(messages)?.[1] as ErrorCode | undefined
  const retryable = code !== undefined && (errorTable[code]?.retryable ?? false)
  return { code, message: result.stderr, retryable, data: result.stdout, warnings: [], result }
}

/** What is wrong with an answer, whatever the command. */
function faultsOfAnswer({ code, result }: Answer, { isHook = false }: FaultedCommand): string[] {
  const { code: exit, signal, stdout, stderr } = result
  const output = stdout + stderr
  return [
    signal !== null && `ended by ${signal}`,
    /^\s+at .+:\d+:\d+\)?$/m.test(output) && 'a stack trace',
    output.includes('UNEXPECTED') && 'UNEXPECTED',
    code !== undefined && !(code in errorTable) && `the code ${code} is not documented`,
    !isHook && (code === undefined) !== (exit === 0) && `exit ${exit} with ${code ?? 'no code'}`,
  ].filter((fault) => fault !== false)
}

/** What is wrong with what a command has left, whatever the command. */
function faultsOfHome({ answer, before, after }: Ended): string[] {
  const faults: string[] = []
  if (answer.retryable && !isUnchanged(before, after)) faults.push('retryable, but something has happened')
  for (const [id, now] of Object.entries(after.sessions)) {
    const { whole = true, events = [], audit = [] } = before.sessions[id] ?? {}
    if (whole && !now.whole) faults.push(`session ${id} is damaged`)
    const isLost = (each: string, i: number, there: string[]): boolean => there[i] !== each
    if (events.some((each, i) => isLost(each, i, now.events))) faults.push(`session ${id} has lost events`)
    if (audit.some((each, i) => isLost(each, i, now.audit)))
      faults.push(`session ${id} has lost lines of its audit log`)
  }
  return faults
}

/** Tries whether everything works when the fault is over. */
async function faultsLater(place: string): Promise<string[]> {
  const faults: string[] = []
  const attempt = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    await act().catch((error: unknown) => faults.push(`later, ${what}: ${String(error)}`))
  }
  const home = join(place, 'home')
  const store = filesystemStore({ home })
  const { sessions } = await readHomeFacts(place)
  await attempt('sessions are not listed', async () => {
    const listed = new Set((await store.list()).map(({ id }) => id))
    const missing = Object.keys(sessions).filter((id) => !listed.has(id))
    if (missing.length > 0) throw new Error(missing.join(' '))
  })
  for (const [id, { whole }] of Object.entries(sessions)) {
    // This process holds one of them.
    if (!whole || id === 'held') continue
    await attempt(`session ${id} cannot be used`, async () => {
      const session = await store.resume(id)
      await session.append({ type: 'later' })
      await session.close()
    })
  }
  await attempt('no lease is granted', async () => {
    const store = fileStore(home)
    await (await acquireLease({ sessionId: 'later', resource: 'later', store })).release()
  })
  return faults
}

/** Everything that is wrong with the end of a command. */
async function faultsOfEnd(
  world: FaultWorld,
  command: FaultedCommand,
  ended: Ended,
  tryAgain: boolean,
): Promise<string[]> {
  const { answer, clean, before, after, place } = ended
  const faults = [...faultsOfAnswer(answer, command), ...faultsOfHome(ended), ...command.faults(ended)]
  if (tryAgain && answer.code !== clean.code && isUnchanged(before, after)) {
    const again = (await world.run(command, place)).answer
    if (again.code !== clean.code) faults.push(`later, the same command: ${again.code} ${again.message}`)
  }
  return [...faults, ...(await faultsLater(place))]
}

/** How many commands run at once: most of the time each of them waits for the disk. */
const atOnce = 4

/** The result of a search. */
export interface FaultSearch {
  /** How many file calls the command makes if none fails. */
  calls: number
  /** How many runs had a failed call. */
  failed: number
  faults: string[]
}

/** How much of a search is made. */
export interface SearchExtent {
  /** Each call gets each of its errors, in a run of its own; otherwise one of them, in turn. */
  allErrors?: boolean
  /** Only each n-th of these runs is made. */
  every?: number
  /** Only calls fail whose name and path, as in `close PLACE/home/file`, match this. */
  calls?: RegExp
}

/** Runs a command once for each of its file calls, with that one call failed. */
export async function failEachCall(
  world: FaultWorld,
  command: FaultedCommand,
  { allErrors = false, every = 1, calls: pattern = /./ }: SearchExtent = {},
): Promise<FaultSearch> {
  const origin = world.newPlace()
  await command.prepare?.(origin, world)
  const before = await readHomeFacts(origin)
  const first = world.newPlace(origin)
  const { answer: clean, calls } = await world.run(command, first)
  const search: FaultSearch = { calls: calls.length, failed: 0, faults: [] }

  async function judge(place: string, answer: Answer, call?: CountedCall, tryAgain = false): Promise<void> {
    const where =
      call && `${call.error} of ${call.name} ${call.path.replace(`${place}/`, '')} (call ${call.number})`
    const report = (fault: string): void =>
      void search.faults.push(
        `${command.title}, ${where ?? 'no failed call'}: ${fault}; ${answer.code ?? 'ok'}`,
      )
    try {
      const ended = { answer, clean, before, after: await readHomeFacts(place), place, error: call?.error }
      for (const fault of await faultsOfEnd(world, command, ended, tryAgain)) report(fault)
    } catch (error) {
      report(`the home cannot be read: ${String(error)}`)
    }
    rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  }

  await judge(first, clean)
  if (clean.code !== command.clean) search.faults.push(`${command.title}: ${clean.code} ${clean.message}`)
  const faults = calls
    .filter(({ name, path }) => pattern.test(`${name} ${path}`))
    .flatMap(({ number, errors }): Fault[] =>
      allErrors
        ? Array.from({ length: errors }, (_, error) => ({ at: number, error }))
        : [{ at: number, error: number % errors }],
    )
    .filter((_, i) => i % every === 0)
  const work = async (): Promise<void> => {
    for (let fault = faults.shift(); fault !== undefined; fault = faults.shift()) {
      const place = world.newPlace(origin)
      const { answer, calls } = await world.run(command, place, fault)
      const call = calls.find(({ error }) => error !== undefined)
      // Processes that run side by side may make their calls in another order, and fewer of them.
      if (call !== undefined) search.failed += 1
      // A second run for each error would take as long as all the others.
      await judge(place, answer, call, fault.error === 0)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return search
}
