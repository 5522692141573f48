import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { recordedChildren } from './support/recorded-children.ts'
import { isRunning, projectRoot, type Running, until, World } from './support/world.ts'

const example = (name: string): string => join(projectRoot, 'examples/bundler', name)
const inputs = ['base.css', 'empty.css', 'night.css'].map((name) => example(`input/${name}`))

interface Bundle {
  output_file: string
  files: number
  bytes: number
  cleanup: { command: string; auto_cleanup_after_seconds: number }
}

const start = (world: World, path: string, args: string[], env: NodeJS.ProcessEnv = {}): Running =>
  world.start(process.execPath, [path, ...args], { env })

const bundle = (world: World, args: string[], env: NodeJS.ProcessEnv = {}): Running =>
  start(world, example('bundle.mjs'), args, env)

const outputs = (world: World): string[] => {
  const out = join(world.root, 'out')
  return existsSync(out) ? readdirSync(out) : []
}

test.concurrent('a bundle gives one envelope and a file that outlives the run; everything else is gone', async () => {
  await using world = new World()
  const result = await bundle(world, inputs).finished
  const { data, warnings, meta } = result.envelope()
  const { output_file, files, bytes, cleanup } = data as Bundle
  expect(result).toMatchObject({ code: 0, stderr: '' })
  expect(readFileSync(output_file, 'utf8')).toBe('body {\n  margin: 0;\n}\nbody {\n  background: black;\n}\n')
  expect({ files, bytes }).toEqual({ files: 3, bytes: statSync(output_file).size })
  expect(warnings).toEqual([`${inputs[1]} is empty`])
  expect(statSync(output_file).mode & 0o777).toBe(0o600)
  expect(dirname(dirname(output_file))).toBe(join(world.root, 'out'))
  expect(basename(dirname(output_file))).toMatch(new RegExp(`^${meta.request_id}-\\d+$`))
  expect(cleanup.auto_cleanup_after_seconds).toBe(300)
  expect(meta.session_tmp_dir).toBe(join(world.runs, meta.request_id))
  expect(meta.session_pid_file).toBe(join(world.runs, meta.request_id, '.stint/children.pids'))
  expect(existsSync(meta.session_tmp_dir ?? '')).toBe(false)
  expect(world.leftovers()).toEqual([])
})

test.concurrent('the cleanup command removes the bundle when pasted as it is, whatever is in the path', async () => {
  await using world = new World()
  const tmp = join(world.tmp, `it's "a" $dir`)
  mkdirSync(tmp)
  const result = await bundle(world, inputs, { STINT_TMP_ROOT: tmp }).finished
  const { output_file, cleanup } = result.envelope().data as Bundle
  expect(output_file.startsWith(tmp)).toBe(true)
  expect(existsSync(output_file)).toBe(true)
  execFileSync('sh', ['-c', cleanup.command], { cwd: world.tmp })
  expect(existsSync(dirname(output_file))).toBe(false)
  expect(existsSync(dirname(dirname(output_file)))).toBe(true)
})

test.concurrent('--keep sets how long the bundle stays, and a sweep before that leaves it alone', async () => {
  await using world = new World()
  const before = Date.now() / 1000
  const { output_file, cleanup } = (await bundle(world, ['--keep', '2m', ...inputs]).finished).envelope()
    .data as Bundle
  const after = Date.now() / 1000
  const expiry = Number(basename(dirname(output_file)).split('-')[1])
  expect(cleanup.auto_cleanup_after_seconds).toBe(120)
  expect(expiry).toBeGreaterThanOrEqual(before + 120)
  expect(expiry).toBeLessThanOrEqual(after + 121)
  expect((await world.stint(['sweep'])).code).toBe(0)
  expect(existsSync(output_file)).toBe(true)
})

test.concurrent('a missing input is NOT_FOUND, exit 5, and no bundle is made', async () => {
  await using world = new World()
  const result = await bundle(world, [...inputs, 'no-such.css']).finished
  expect(result.code).toBe(5)
  expect(result.envelope()).toMatchObject({
    data: null,
    error: { code: 'NOT_FOUND', message: 'no such input: no-such.css', retryable: false },
  })
  expect(outputs(world)).toEqual([])
  expect(world.leftovers()).toEqual([])
})

test.concurrent('a worker that fails prints why to stderr, and the run is CHILD_FAILED', async () => {
  await using world = new World()
  const result = await bundle(world, [inputs[0] ?? '', world.tmp]).finished
  expect(result.code).toBe(1)
  expect(result.envelope().error?.code).toBe('CHILD_FAILED')
  expect(result.stderr).toMatch(/^transform: EISDIR.*\n$/)
  expect(outputs(world)).toEqual([])
  expect(world.leftovers()).toEqual([])
})

test.concurrent('a bundle name that leads out of the directory is refused', async () => {
  await using world = new World()
  const result = await bundle(world, ['--name', '../../bundle.css', ...inputs]).finished
  expect(result.code).toBe(2)
  expect(result.envelope().error?.code).toBe('NAME_INVALID')
  expect(readdirSync(world.tmp)).toEqual([basename(world.root)])
  expect(world.leftovers()).toEqual([])
})

test.concurrent.each([
  ['bundle.mjs', [], 'FILE is missing'],
  ['bundle.mjs', ['--nmae', 'x', 'a.css'], 'unknown option --nmae'],
  ['bundle-parse-args.mjs', [], 'no files to bundle'],
  ['bundle-parse-args.mjs', ['--nmae', 'x', 'a.css'], `Unknown option '--nmae'`],
  ['bundle-parse-args.mjs', ['a.css', '--timeout', 'soon'], '--timeout takes a duration'],
])('%s %j: exit 2, a message, and nothing has been made', async (name, args, message) => {
  await using world = new World()
  const result = await start(world, example(name), args).finished
  const { error, meta } = result.envelope()
  expect(result).toMatchObject({ code: 2, stderr: '' })
  expect(error).toMatchObject({ code: 'ARG_ERROR', message: expect.stringContaining(message) as string })
  expect(meta.session_tmp_dir).toBe(null)
  expect(readdirSync(world.tmp)).toEqual([])
})

test.concurrent('a command with parseArgs gives the same answer, and its parser never sees stint’s flags', async () => {
  await using world = new World()
  const args = ['--grace', '1s', '--name', 'all.css', '--json', ...inputs, '--timeout=5m']
  const result = await start(world, example('bundle-parse-args.mjs'), args).finished
  const { output_file, files } = result.envelope().data as Bundle
  expect(result.code).toBe(0)
  expect(files).toBe(3)
  expect(basename(output_file)).toBe('all.css')
  expect(existsSync(output_file)).toBe(true)
})

test.concurrent('--help and --version make nothing', async () => {
  await using world = new World()
  const help = await bundle(world, ['--help']).finished
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('bundle [options] FILE…') as string })
  expect(await bundle(world, ['--version']).finished).toMatchObject({ code: 0, stdout: '1.0.0\n' })
  expect(readdirSync(world.tmp)).toEqual([])
})

test.concurrent('eight bundles at once share no path', async () => {
  await using world = new World()
  const results = await Promise.all(Array.from({ length: 8 }, () => bundle(world, inputs).finished))
  const paths = results.flatMap((result) => {
    const { data, meta } = result.envelope()
    return [(data as Bundle).output_file, meta.session_tmp_dir]
  })
  expect(new Set(paths).size).toBe(16)
  expect(outputs(world)).toHaveLength(8)
  expect(world.leftovers()).toEqual([])
})

/** A named pipe as an input: the worker that reads it stays in the middle of its work until the test ends. */
class SlowInput implements Disposable {
  readonly path: string
  #fd: number | undefined

  constructor(world: World) {
    this.path = join(world.tmp, 'slow.css')
    execFileSync('mkfifo', [this.path])
  }

  isBeingRead(): boolean {
    try {
      this.#fd ??= openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error
    }
    return this.#fd !== undefined
  }

  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
  }
}

/** Starts a bundle and returns when its one worker is in the middle of reading. */
async function startSlowBundle(
  world: World,
  slow: SlowInput,
  flags: string[] = [],
): Promise<[Running, number]> {
  const running = bundle(world, [...flags, slow.path])
  await until('the worker reads', () => slow.isBeingRead())
  await until('the worker is on record', () => recordedChildren(world).length > 0)
  const [worker = 0] = recordedChildren(world)
  expect(isRunning(worker)).toBe(true)
  return [running, worker]
}

test.concurrent.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['SIGHUP', 129],
] as const)('%s in the middle of a bundle: exit %i, one envelope, nothing left', async (signal, exit) => {
  await using world = new World()
  using slow = new SlowInput(world)
  const log = join(world.tmp, 'log')
  const [running, worker] = await startSlowBundle(world, slow, ['--log', log])
  running.child.kill(signal)
  const result = await running.finished
  expect(result).toMatchObject({ code: exit, stderr: '' })
  expect(result.envelope()).toMatchObject({
    data: null,
    error: { code: 'CANCELLED', signal },
    meta: { partial: true },
  })
  expect(readFileSync(log, 'utf8')).toBe(`transforming ${slow.path}\nclosed\n`)
  expect(isRunning(worker)).toBe(false)
  expect(outputs(world)).toEqual([])
  expect(world.leftovers()).toEqual([])
})

test.concurrent('a timeout in the middle of a bundle: exit 10, one envelope, nothing left', async () => {
  await using world = new World()
  using slow = new SlowInput(world)
  const result = await bundle(world, ['--timeout', '300ms', slow.path]).finished
  expect(result).toMatchObject({ code: 10, stderr: '' })
  expect(result.envelope()).toMatchObject({
    error: { code: 'TIMEOUT', timeout_ms: 300 },
    meta: { partial: true },
  })
  expect(outputs(world)).toEqual([])
  expect(world.leftovers()).toEqual([])
})

test.concurrent('kill -9 in the middle of a bundle: the guard ends the worker and removes the scratch', async () => {
  await using world = new World()
  using slow = new SlowInput(world)
  const [running, worker] = await startSlowBundle(world, slow)
  running.child.kill('SIGKILL')
  expect(await running.finished).toMatchObject({ signal: 'SIGKILL', stdout: '' })
  await until('the worker is gone', () => !isRunning(worker))
  await until('the scratch is gone', () => world.leftovers().length === 0)
})
