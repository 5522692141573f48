import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ErrorCode, errorTable } from '../src/base/errors/error-table.ts'
import { stintCommands } from '../src/cli/stint.ts'
import { optionsOf, readInvocation, isGroup } from '../src/command/invocation.ts'
import { allCommands } from './support/all-commands.ts'
import { treeHash } from './support/tree-hash.ts'
import { type Finished, isRoot, openToAll, World } from './support/world.ts'

/** A mistake: the command line, the code it must end with, and what is odd about its surroundings. */
interface Mistake {
  line: string
  code: ErrorCode
  env?: (world: World) => NodeJS.ProcessEnv
  /** Whether it is found only when the run has begun. */
  begun?: boolean
  /** Whether it is run as a user without root's permissions. */
  asNobody?: boolean
  /** A pattern for stdout and stderr. */
  says?: RegExp
}

const nobody = { uid: 65534, gid: 65534 }

const long = 'x'.repeat(300)

const lines: [line: string, code: ErrorCode][] = [
  ['sessions', 'ARG_ERROR'],
  ['rnu', 'ARG_ERROR'],
  ['--verison', 'ARG_ERROR'],
  ['run', 'ARG_ERROR'],
  ['run --', 'ARG_ERROR'],
  ['run --timeot 5s -- true', 'ARG_ERROR'],
  ['run --timeout soon -- true', 'ARG_ERROR'],
  ['run --timeout -5s -- true', 'ARG_ERROR'],
  ['run --timeout', 'ARG_ERROR'],
  ['run --lock --purpose --wait 1m -- true', 'ARG_ERROR'],
  ['sessions tail nobody -nlots', 'ARG_ERROR'],
  ['sessions tail nobody -fz', 'ARG_ERROR'],
  ['run --keep sometimes -- true', 'ARG_ERROR'],
  ['run --max-bytes lots -- true', 'ARG_ERROR'],
  ['run --max-files 1.5 -- true', 'ARG_ERROR'],
  ['run --session a/b -- true', 'SESSION_ID_INVALID'],
  ['run --path src -- true', 'ARG_ERROR'],
  ['run --lock --ttl 0s -- true', 'ARG_ERROR'],
  ['run --no-such-flag', 'ARG_ERROR'],
  ['run -- no-such-program-anywhere', 'COMMAND_NOT_FOUND'],
  ['run -- /', 'COMMAND_NOT_EXECUTABLE'],
  ['run --json -- sh -c "exit 9"', 'CHILD_FAILED'],
  ['run --timeout 50ms -- sleep 60', 'TIMEOUT'],
  ['lock', 'ARG_ERROR'],
  ['lock acquire extra', 'ARG_ERROR'],
  ['lock acquire --session ..', 'SESSION_ID_INVALID'],
  ['lock acquire --session a --ttl forever', 'ARG_ERROR'],
  ['lock acquire --session a --mode both', 'ARG_ERROR'],
  ['lock acquire --session a --workspace /no/such/directory', 'NOT_FOUND'],
  ['lock wait --timeout soon', 'ARG_ERROR'],
  ['lock break', 'ARG_ERROR'],
  ['lock status --sesion nobody', 'ARG_ERROR'],
  ['sessions', 'ARG_ERROR'],
  ['sessions lst', 'ARG_ERROR'],
  ['sessions show', 'ARG_ERROR'],
  ['sessions show ..', 'SESSION_ID_INVALID'],
  ['sessions show a/b', 'SESSION_ID_INVALID'],
  [`sessions show ${long}`, 'SESSION_ID_INVALID'],
  ['sessions show 🙂', 'SESSION_ID_INVALID'],
  ['sessions show nobody', 'NOT_FOUND'],
  ['sessions tail nobody -n5', 'NOT_FOUND'],
  ['sessions tail nobody -fn 5', 'NOT_FOUND'],
  ['sessions fork nobody', 'NOT_FOUND'],
  ['sessions fork nobody --at minus', 'ARG_ERROR'],
  ['sessions tail nobody -n many', 'ARG_ERROR'],
  ['sessions list --sort age', 'ARG_ERROR'],
  ['sessions verify', 'ARG_ERROR'],
  ['sessions verify nobody', 'NOT_FOUND'],
  ['sessions unlock nobody --yes', 'NOT_FOUND'],
  ['sessions rm nobody --yes', 'NOT_FOUND'],
  ['sessions repair nobody', 'NOT_FOUND'],
  ['sessions append nobody --type t --data {}', 'NOT_FOUND'],
  ['sessions append nobody --create --type t --data {broken', 'ARG_ERROR'],
  ['sessions append nobody --create --type stint.slot --data {}', 'ARG_ERROR'],
  ['sessions append nobody --create --data {}', 'ARG_ERROR'],
  ['sessions list extra', 'ARG_ERROR'],
  ['audit show', 'ARG_ERROR'],
  ['audit verify nobody', 'NOT_FOUND'],
  ['audit show nobody --since yesterday', 'ARG_ERROR'],
  ['audit show nobody --limit many', 'ARG_ERROR'],
  ['temp why /no/such/path', 'NOT_FOUND'],
  ['temp why', 'ARG_ERROR'],
  ['temp list --sort colour', 'ARG_ERROR'],
  ['sweep --older-than never', 'ARG_ERROR'],
  ['sweep --scope everything', 'ARG_ERROR'],
  ['hook install no-such-agent', 'ARG_ERROR'],
  ['hook install claude --scope some', 'ARG_ERROR'],
  ['postgres migrate', 'ARG_ERROR'],
  ['postgres migrate --store http://example', 'ARG_ERROR'],
  ['completion tcsh', 'ARG_ERROR'],
  ['status --interval often', 'ARG_ERROR'],
  ['demo extra', 'ARG_ERROR'],
]

/** Mistakes in the surroundings: a missing, unsafe or invalid directory or store. */
const places: Mistake[] = [
  // The workspace is looked up when the run has begun.
  { line: 'run --lock --path ../elsewhere -- true', code: 'NAME_INVALID', begun: true },
  { line: 'run -- true', code: 'TEMP_DIR_MISSING', env: (w) => ({ STINT_TMP_ROOT: join(w.tmp, 'nowhere') }) },
  {
    line: 'run -- true',
    code: 'TEMP_DIR_UNSAFE',
    env(w) {
      const root = join(w.tmp, 'linked')
      mkdirSync(root)
      symlinkSync('/etc', join(root, `stint-${process.geteuid?.()}`))
      return { STINT_TMP_ROOT: root }
    },
  },
  { line: 'lock status --all', code: 'ARG_ERROR', env: () => ({ STINT_HOME: 'relative/home' }) },
  {
    line: 'lock acquire --session a --pid 1',
    code: 'HOME_UNSAFE',
    env(w) {
      writeFileSync(join(w.tmp, 'file'), '')
      return { STINT_HOME: join(w.tmp, 'file') }
    },
  },
  {
    line: 'lock acquire --session a --pid 1',
    code: 'HOME_UNSAFE',
    env(w) {
      const home = join(w.tmp, 'open')
      mkdirSync(home)
      chmodSync(home, 0o777)
      return { STINT_HOME: home }
    },
  },
  { line: 'lock status --all', code: 'ARG_ERROR', env: () => ({ STINT_STORE: 'mysql://somewhere' }) },
  {
    line: 'lock status --all --store postgres://nobody@127.0.0.1:1/none',
    code: 'POSTGRES_UNAVAILABLE',
  },
]

/** Commands that need the home, one for each kind of access. */
const needHome = [
  'run --record -- true',
  'sessions list',
  'sessions show abc',
  'sessions append abc --create --type note',
  'sessions verify --all',
  'sessions unlock abc --yes',
  'sessions rm abc --yes',
  'sessions repair abc',
  'sessions fork abc',
  'sessions list --sort size',
  'audit show abc',
  'lock status --all',
  'lock acquire --session a --pid 1',
  'sweep --scope sessions',
]

const closed = /no permission for \S+\/closed \(EACCES\).*chmod u\+rwX \S+\/closed, or set STINT_HOME/s

const unusable: Mistake[] = [
  ...needHome.map((line): Mistake => ({
    line,
    code: 'PERMISSION_DENIED',
    env: (w) => ({ HOME: closedDirectory(w), STINT_HOME: '' }),
    asNobody: true,
    says: closed,
  })),
  ...['sessions list', 'sessions show abc', 'sessions append abc --create --type note'].map(
    (line): Mistake => ({
      line,
      code: 'PERMISSION_DENIED',
      env: (w) => ({ STINT_HOME: closedDirectory(w) }),
      asNobody: true,
      says: closed,
    }),
  ),
  ...needHome.map((line): Mistake => ({
    line,
    code: 'HOME_UNSAFE',
    env(w) {
      writeFileSync(join(w.tmp, 'file'), '')
      return { STINT_HOME: join(w.tmp, 'file') }
    },
    says: /\/file is not a directory.*STINT_HOME/s,
  })),
]

/** Makes a directory that belongs to the user nobody, who may not enter it. */
function closedDirectory({ tmp }: World): string {
  const path = join(tmp, 'closed')
  mkdirSync(path)
  if (isRoot) for (const each of [tmp, path]) chownSync(each, nobody.uid, nobody.gid)
  chmodSync(path, 0)
  return path
}

const all: Mistake[] = [...lines.map(([line, code]) => ({ line, code })), ...places, ...unusable]

test('the table has at least 60 mistakes', () => {
  expect(all.length).toBeGreaterThanOrEqual(60)
})

/** Splits a line as a shell does, as far as the table needs it. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

/** The code in the envelope; without one, the code at the end of the first line on stderr. */
const codeOf = ({ stdout, stderr, envelope }: Finished): string | undefined =>
  stdout === '' ? /^stint.*: .* \(([A-Z_]+)\)\n/.exec(stderr)?.[1] : envelope().error?.code

test.concurrent.each(all)('stint $line: $code, and no stack trace', async (mistake) => {
  const { line, code, env, begun, asNobody, says = /./ } = mistake
  await using world = new World({}, asNobody ? openToAll : undefined)
  const place = env?.(world)
  const { exit } = errorTable[code]
  // Arguments are checked before anything is made.
  const before = exit === 2 && !begun ? treeHash(world.tmp) : undefined
  const as = asNobody && isRoot ? nobody : {}
  const result = await world.stint(wordsOf(line), { cwd: world.tmp, env: place, ...as })
  expect(result.stdout + result.stderr).not.toMatch(/^\s+at .*[(:]\d+/m)
  expect(codeOf(result), result.stderr).toBe(code)
  expect(result.stdout + result.stderr).toMatch(says)
  expect(result.code).toBe(code === 'CHILD_FAILED' ? 9 : exit)
  if (before !== undefined) expect(treeHash(world.tmp)).toBe(before)
  expect(world.leftovers()).toEqual([])
})

test('whatever words follow a command, they are read or refused with ARG_ERROR', async () => {
  const values = fc.oneof(fc.string(), fc.constantFrom('', '-', '--', '-1', '5', '5m', '2GiB', 'a b', '-°'))
  for (const [called, command] of await allCommands(stintCommands, 'stint')) {
    if (isGroup(command)) continue
    const flags = Object.entries(optionsOf(command)).flatMap(([name, { short = 'z' }]) => [
      `--${name}`,
      `-${short}`,
    ])
    const flag = fc.constantFrom(...flags, '--__proto__', '--constructor', '--no-such', '-', '---')
    const joined = fc.tuple(flag, fc.constantFrom('', '=', '-', 'h'), values).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.array(fc.oneof(flag, values, joined), { maxLength: 6 }), (argv) => {
        try {
          readInvocation(command, argv)
        } catch (error) {
          expect(error, `${called} ${JSON.stringify(argv)}`).toMatchObject({ code: 'ARG_ERROR' })
        }
      }),
      { numRuns: 200 },
    )
  }
})
