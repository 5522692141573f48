import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { seeded } from '../../../test/support/random.ts'
import { optionsOf } from '../../../test/support/reading-sandbox.ts'
import { World } from '../../../test/support/world.ts'
import { shellWord } from '../../base/text/escape.ts'
import { gitOnlyReads } from '../reading/only-reads.ts'
import { readingGitCommands } from '../reading/reading-programs.ts'
import { onlyReadsFunction, shimFile } from './shim.ts'

/** The shells of this machine that may be `/bin/sh` somewhere. */
const shells = [
  ['dash'],
  ['bash', '--posix'],
  ['busybox', 'ash'],
  ['zsh', '--emulate', 'sh'],
  ['ksh'],
  ['mksh'],
].filter(([name = '']) => spawnSync(name, ['-c', ':']).status === 0)

/** Makes up the words after `git`, of subcommands, options and operands that the table knows, and others. */
function makeUp(random: () => number): string[] {
  const oneOf = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? ''
  const sometimes = (chance: number, make: () => string): string[] => (random() < chance ? [make()] : [])
  const name = oneOf([...Object.keys(readingGitCommands()), 'commit', 'clean', 'alias', ''])
  const options = name === '' ? ['x'] : optionsOf(`git ${name}`)
  const letters = [...'abcdefghilmnopqrstuvwxzACDFMOX*é']
  const option = (): string =>
    oneOf([
      `-${oneOf(letters)}`,
      `-${oneOf(letters)}${oneOf(letters)}`,
      oneOf(options),
      `${oneOf(options)}=${oneOf(['', 'a b', '-l', '$x'])}`,
      oneOf([
        '-',
        '--',
        '-h',
        '--help',
        '-l',
        '--list',
        '--get',
        '--get=x',
        '--=x',
        '--output=x',
        '--abbrev all',
        '--a*',
      ]),
    ])
  const operand = (): string =>
    oneOf([
      '',
      'a',
      'list',
      'show',
      'get',
      'HEAD',
      'a.b',
      'edit',
      'status',
      'log',
      'a\nb',
      '*',
      '$(touch hit)',
      "'",
      'ext::x',
      '1--list',
      '%G?',
      'a/b_c-1',
    ])
  return [
    ...sometimes(0.1, () => '-C'),
    ...sometimes(0.1, () =>
      oneOf(['--no-pager', '-P', '-p', '-h', '--help', '--version', '--exec-path', 'dir']),
    ),
    name,
    ...sometimes(0.3, operand),
    ...sometimes(0.6, option),
    ...sometimes(0.5, operand),
    ...sometimes(0.3, option),
    ...sometimes(0.3, operand),
  ]
}

/** Asks the function of the shim about each command line, in one process of a shell. */
function shimVerdicts(
  shell: readonly string[],
  lists: readonly (readonly string[])[],
  cwd: string,
): boolean[] {
  const calls = lists.map((words) => `only_reads ${words.map(shellWord).join(' ')} && echo 1 || echo 0`)
  const script = join(cwd, 'script')
  writeFileSync(script, `${onlyReadsFunction}\n${calls.join('\n')}\n`)
  const [program = '', ...args] = shell
  const { stdout, stderr } = spawnSync(program, [...args, script], { cwd, encoding: 'utf8' })
  expect(stderr).toBe('')
  const lines = stdout.trim().split('\n')
  expect(lines).toHaveLength(lists.length)
  return lines.map((line) => line === '1')
}

test.each(shells)(
  'in %s, the shim takes a command for reading only if the hook does, but for options that the hook does not know',
  async (...shell) => {
    await using world = new World()
    const random = seeded(16)
    const lists = Array.from({ length: 3000 }, () => makeUp(random))
    const verdicts = shimVerdicts(shell, lists, world.tmp)
    const taken = lists.filter((_, index) => verdicts[index])
    const withoutOptions = (words: readonly string[]) =>
      words.slice(words[0] === '-C' ? 2 : 0).filter((word) => !word.startsWith('-'))
    expect(taken.filter((words) => !gitOnlyReads(words) && !gitOnlyReads(withoutOptions(words)))).toEqual([])
    expect(taken.length).toBeGreaterThan(300)
    expect(existsSync(join(world.tmp, 'hit'))).toBe(false)
  },
)

/** Options of reading commands that write a file, start a program or run gpg. */
const writingOptions = [
  ['--output=x'],
  ['--output', 'x'],
  ['--outp=x'],
  ['--ext-diff'],
  ['-O'],
  ['-Oless'],
  ['-nOless'],
  ['--open-files-in-pager'],
  ['--op=less'],
  ['--filters'],
  ['--fil'],
  ['--show-signature'],
  ['--format=%h%G?'],
  ['--format=%(signature)'],
  ['--format', '%(*signature:grade)'],
]

test.each(shells)('in %s, no option that writes or starts a program passes as reading', async (...shell) => {
  await using world = new World()
  const names = [...Object.keys(readingGitCommands()), 'stash list', 'reflog show', 'worktree list']
  const lists = names.flatMap((name) => writingOptions.map((option) => [...name.split(' '), ...option]))
  expect(shimVerdicts(shell, lists, world.tmp)).not.toContain(true)
  const changing = `add,branch x,branch -d x,branch --list x,checkout,clean -n,commit,config a.b c,config --unset a.b,config edit,
    config user.name --get,fetch,reflog expire,reflog delete x,remote add a b,remote update,stash,stash -p list,stash pop,
    symbolic-ref HEAD x,symbolic-ref -d HEAD,tag x,tag -d x,update-index,worktree add x,worktree prune,-c a.b=c status,
    --git-dir=x status,-C,status-of-mine`
  const changes = changing.split(/,\s*/).map((line) => line.split(' '))
  expect(shimVerdicts(shell, changes, world.tmp)).not.toContain(true)
})

test('git changes nothing by the options with which the shim lets branch, tag, remote and config pass', async () => {
  await using world = new World()
  const git = (...args: string[]) =>
    spawnSync('git', args, { cwd: world.tmp, encoding: 'utf8', env: world.env })
  for (const line of ['init -q', 'commit -q --allow-empty -m x', 'tag v1', 'branch other'])
    git('-c', 'user.name=a', '-c', 'user.email=a@example.org', ...line.split(' '))
  const state = () => [git('for-each-ref').stdout, readFileSync(join(world.tmp, '.git/config'), 'utf8')]
  const before = state()
  expect(before[0]).toContain('refs/tags/v1')
  const words =
    `-a -r -v -l -vv --all --remotes --list --show-current --no-color --format=x --sort=refname`.split(' ')
  for (const name of ['branch', 'tag', 'remote'])
    for (const word of words) for (const more of words) git(name, word, more)
  for (const action of ['--get', '--get-all', '--get-regexp', '-l', '--list'])
    for (const line of [
      'a.b c',
      '--unset core.bare',
      '--add a.b c',
      '--edit',
      '--replace-all a.b c',
      'a.b --unset',
    ])
      git('config', action, ...line.split(' '))
  expect(state()).toEqual(before)
})

/** A directory for PATH with a shim, and one with a git that prints its arguments and stdin. */
class Shimmed extends World {
  readonly shim = join(this.tmp, 'git-shim/git')
  readonly asked = join(this.tmp, 'asked')

  constructor(verdict: number | 'missing', failClosed = false) {
    super()
    const stint = join(this.tmp, 'stint-hook')
    this.script(stint, `printf '%s|' "$@" >>'${this.asked}'; exit ${verdict}`)
    this.script(this.shim, '')
    const program = verdict === 'missing' ? '/nowhere/stint-hook' : stint
    writeFileSync(this.shim, shimFile.write([program], { failClosed }))
    this.script(join(this.tmp, 'real/git'), `printf '%s|' "$@"; cat; exit 7`)
    this.env.PATH = `${join(this.tmp, 'git-shim')}:${join(this.tmp, 'real')}:/usr/bin:/bin`
  }

  script(path: string, text: string): void {
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, `#!/bin/sh\n${text}\n`)
    chmodSync(path, 0o755)
  }

  git(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const running = this.start('git', args, { env, input: 'stdin' })
    // A command that is refused does not read stdin.
    running.child.stdin?.on('error', () => {})
    return running.finished
  }
}

test('a command that reads goes to git with its words, stdin and exit code, and starts no process of stint', async () => {
  await using world = new Shimmed(2)
  const args = ['log', '--grep=a  b\nc', '-S', "it's $HOME *", '--', '']
  expect(await world.git(args)).toMatchObject({ code: 7, stdout: `${args.join('|')}|stdin` })
  expect(existsSync(world.asked)).toBe(false)
})

/** What shell prompts, editors and people ask git all the time. */
const everyday = [
  ['', '--help', '-h', '--version', 'help -a', '-p log', '--no-pager log', '-C x status'],
  [
    '--no-optional-locks status --porcelain=v2 --branch',
    'status -z -uall',
    'diff --no-ext-diff --cached --quiet',
  ],
  ['diff-index --name-only HEAD', 'diff-files', 'log --format=%h -1', 'show --textconv :a', 'blame -p a'],
  ['rev-parse --git-dir --is-inside-git-dir --is-bare-repository --is-inside-work-tree --short HEAD'],
  [
    'rev-parse --show-superproject-working-tree',
    'rev-parse @{u}',
    'rev-list --count --left-right @{u}...HEAD',
  ],
  [
    'ls-files --others --exclude-standard',
    'ls-tree -l HEAD',
    'cat-file -s HEAD:a',
    'describe --tags --exact-match',
  ],
  [
    'for-each-ref --format=%(refname) --sort=-committerdate',
    'grep -nE a',
    'merge-base a b',
    'check-ignore -v a',
  ],
  [
    'branch',
    'branch -a',
    'branch -vv',
    'branch --list',
    'branch --show-current',
    'tag',
    'tag -l',
    'tag --list',
  ],
  [
    'remote',
    'remote -v',
    'reflog',
    'reflog show',
    'stash list',
    'worktree list --porcelain',
    'shortlog -s HEAD',
  ],
  ['config -l', 'config --list', 'config --get a.b', 'config --get-all a.b', 'config --local --get a.b'],
  ['config -z --get-regexp ^bash', 'config --bool bash.showDirtyState', 'config user.name'],
  [
    'symbolic-ref HEAD',
    'symbolic-ref -q HEAD',
    'symbolic-ref --short HEAD',
    '-C x symbolic-ref --quiet HEAD',
  ],
]

test.each(everyday)('an everyday command goes straight to git: git %s …', async (...lines) => {
  await using world = new Shimmed(2)
  for (const line of lines)
    expect(await world.git(line.split(' ').filter(Boolean)), line).toMatchObject({ code: 7 })
  expect(existsSync(world.asked)).toBe(false)
})

test('stint is asked about other commands that read, and knows them', () => {
  const reading = 'fsck --lost-found,notes list,whatchanged -1,branch --list x,config --show-origin --list'
  for (const line of reading.split(/,\s*/)) expect(gitOnlyReads(line.split(' ')), line).toBe(true)
  const changing = `alias -h,commit -h x,archive -o x HEAD,notes add,log --format=%G?,
    verify-commit HEAD`
  for (const line of changing.split(/,\s*/)) expect(gitOnlyReads(line.split(' ')), line).toBe(false)
})

test('any other command is asked about first, with its words, and starts git only if stint does not refuse', async () => {
  await using free = new Shimmed(0)
  expect(await free.git(['clean', '-fd', 'a b'])).toMatchObject({ code: 7, stdout: 'clean|-fd|a b|stdin' })
  expect(readFileSync(free.asked, 'utf8')).toBe('git|shim|--|clean|-fd|a b|')
  await using held = new Shimmed(2)
  expect(await held.git(['clean', '-fd'])).toMatchObject({ code: 1, stdout: '' })
  expect(await held.git(['clean', '-fd'], { STINT_BYPASS: '1' })).toMatchObject({ code: 7 })
})

test.each([1, 127, 'missing'] as const)(
  'if stint fails (%s), git runs, unless it fails closed',
  async (how) => {
    await using world = new Shimmed(how)
    expect(await world.git(['clean'])).toMatchObject({ code: 7 })
    await using closed = new Shimmed(how, true)
    expect(await closed.git(['clean'])).toMatchObject({ code: 1, stdout: '' })
    expect(await closed.git(['status'])).toMatchObject({ code: 7 })
  },
)

test('git gets the variables of its user unchanged', async () => {
  await using world = new Shimmed(0)
  world.script(join(world.tmp, 'real/git'), `printf '%s|' "$name" "$rest" "$first" "$word" "$git"`)
  const mine = { name: 'a', rest: 'b', first: 'c', word: 'd', git: 'e' }
  expect(await world.git(['log', '-1', 'HEAD'], mine)).toMatchObject({ stdout: 'a|b|c|d|e|' })
})

test('the shim finds git behind itself, behind a link to itself and behind the shim of another home', async () => {
  await using world = new Shimmed(0)
  const other = join(world.tmp, 'other/git-shim')
  world.script(join(other, 'git'), '')
  writeFileSync(join(other, 'git'), shimFile.write(['/nowhere'], {}))
  symlinkSync(join(world.tmp, 'git-shim'), join(world.tmp, 'linked'))
  const path = [join(world.tmp, 'linked'), join(world.tmp, 'git-shim/'), other, '', join(world.tmp, 'real')]
  expect(await world.git(['status'], { PATH: [...path, '/bin'].join(':') })).toMatchObject({ code: 7 })
  const none = await world.start('/bin/sh', [world.shim, 'status'], { env: { PATH: world.tmp } }).finished
  expect(none).toMatchObject({ code: 127, stderr: expect.stringContaining('no other git on PATH') })
  expect(readFileSync(world.shim, 'utf8').startsWith(shimFile.firstLines)).toBe(true)
})
