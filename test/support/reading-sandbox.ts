import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  checkedPrograms,
  printingPrograms,
  readingGitCommands,
} from '../../src/hooks/reading/reading-programs.ts'
import { seeded } from './random.ts'
import { treeHash } from './tree-hash.ts'

/** Variables of the sandbox whose values are options that write. */
const variables = { X: '-ohit', Y: '--output=hit' }

/**
 * A git repository with files whose names are options that write, for patterns that match them, and beside
 * it a directory with programs that write, for a command that changes the path.
 */
export function makeReadingSandbox(directory: string): string {
  const repository = join(directory, 'repository')
  mkdirSync(join(repository, 'src'), { recursive: true })
  mkdirSync(join(directory, 'home'))
  mkdirSync(join(directory, 'programs'))
  for (const name of [...printingPrograms.split(' '), 'git']) {
    writeFileSync(join(directory, 'programs', name), '#!/bin/sh\n/usr/bin/touch hit\n')
    chmodSync(join(directory, 'programs', name), 0o755)
  }
  const git = (...args: string[]): void => {
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: repository })
  }
  git('init', '-q', '-b', 'main')
  for (const name of ['a.txt', 'b.txt', 'src/x.ts', '-ohit', '--output=hit'])
    writeFileSync(join(repository, name), '3 b\n1 a\n2 a\n')
  git('add', '--all')
  git('commit', '-qm', 'first')
  git('tag', 'v1')
  git('pack-refs', '--all')
  writeFileSync(join(repository, 'a.txt'), 'stashed\n')
  git('stash', '-q')
  writeFileSync(join(repository, 'b.txt'), 'changed\n')
  return repository
}

/**
 * Makes up commands, and runs those that `isReading` takes for reading, in bash, dash and zsh in turn.
 * Returns how many ran, and after which of them a file, a ref or the configuration was not what it had been.
 */
export function tryCommands(
  repository: string,
  { seed, count, isReading }: { seed: number; count: number; isReading: (command: string) => boolean },
): { ran: number; changing: string[] } {
  const random = seeded(seed)
  // npm keeps a log of every command in its cache.
  const npm = { npm_config_cache: join(repository, '../npm-cache'), npm_config_offline: 'true' }
  const env = { PATH: process.env.PATH, HOME: join(repository, '../home'), ...npm, ...variables }
  const changing: string[] = []
  let ran = 0
  for (let i = 0; i < count; i++) {
    const command = makeUp(random)
    if (!isReading(command)) continue
    const before = stateOf(repository)
    const shell = ['bash', 'dash', 'zsh'][ran++ % 3] ?? ''
    spawnSync('timeout', ['2', shell, '-c', command], { cwd: repository, env, stdio: 'ignore' })
    if (stateOf(repository) !== before) changing.push(command)
  }
  return { ran, changing }
}

/** Everything but git's own files, of which only refs and configuration count. */
function stateOf(repository: string): string {
  const files = readdirSync(repository).filter((name) => name !== '.git')
  const ofGit = ['.git/HEAD', '.git/config', '.git/refs', '.git/packed-refs', '.git/logs', '../home']
  return treeHash(...[...files.sort(), ...ofGit].map((name) => join(repository, name)))
}

const writers = 'rm touch tee cp mv ln sh bash eval install truncate patch tsort dd make npm'.split(' ')
const wrappers = [
  'time',
  'command',
  'timeout 5',
  'xargs',
  'xargs -n 1',
  'xargs xargs -n',
  '/usr/bin/',
  'command -v',
  'exec',
]
const operands = [
  ['a.txt', 'b.txt', 'src', 'src/x.ts', '*', '*.txt', 'src/*', '?.txt', '[ab].txt', '-', '5', '-5', 'hit'],
  [
    '$X',
    '"$Y"',
    '$f',
    '"$f"',
    '"$=Y"',
    '"$~X"',
    '$X[X=1]',
    '\\x2do',
    '^a',
    '${X}',
    '"a $X"',
    '\\$X',
    "'$X'",
    '${X:-hit}',
    '$((1))',
    "$'hit'",
    '"\\\\$(touch hit)"',
  ],
  ['$(touch hit)', '`touch hit`', '"$(touch hit)"', '"`touch hit`"', "'x[$(touch hit)]'", '<(touch hit)'],
  ['{a,b}.txt', '{hit}', '~', '!', '#', 'a\\ b', '"a b"', '\\\n', "'a\\' '; touch hit'", '(touch hit)'],
  [
    "'1,5p'",
    "'w hit'",
    "'s/a/b/'",
    "'s/a/b/w hit'",
    "'1e touch hit'",
    "'/a/w hit'",
    "'p;w hit'",
    "'$!d;w hit'",
  ],
  ["'{print}'", `'{print > "hit"}'`, `'BEGIN{system("touch hit")}'`, `'{print | "tee hit"}'`],
  [
    'HEAD',
    'main',
    'v1',
    'HEAD~0:a.txt',
    'stash@{0}',
    'user.name',
    'core.x',
    'list',
    'show',
    'get',
    'drop',
    'pop',
  ],
  ['add', 'get-url', 'expire', 'status', '+%F', 'refs/heads/x', 'touch', 'rm'],
].flat()
const options = [
  [
    '-o',
    '-ohit',
    '-o hit',
    '--output=hit',
    '--output hit',
    '--outpu=hit',
    '-i',
    '-i.bak',
    '--in-place',
    '-n',
    '-e',
  ],
  [
    '-delete',
    '-exec touch hit \\;',
    '-execdir touch hit \\;',
    '-fprint hit',
    '-fls hit',
    '-ok touch hit \\;',
  ],
  [
    '-f',
    '-F',
    '-d',
    '-D',
    '-m',
    '-M',
    '-l',
    '-a',
    '-r',
    '-v',
    '-t',
    '-tf',
    '-C',
    '-C src',
    '-c x.y=z',
    '-w',
    '-x',
  ],
  [
    '--',
    '--list',
    '--get',
    '--unset',
    '--add',
    '--edit',
    '--delete',
    '--pre=touch',
    '--all',
    '--stat',
    '--oneline',
  ],
  [
    '--files0-from=a.txt',
    '-T .',
    '--compress-program=touch',
    '--open-files-in-pager=touch',
    '-Otouch',
    '--ext-diff',
  ],
  [
    '-name',
    '-name a.txt',
    '-type f',
    '-print',
    '-quit',
    '-maxdepth 1',
    '-p',
    '-u',
    '-z',
    '-s',
    '-k2',
    '-t,',
    '-r -i',
  ],
].flat()
const redirections = [
  [
    '> hit',
    '>hit',
    '2>hit',
    '>> hit',
    '&> hit',
    '>| hit',
    '1<>hit',
    '>/dev/nullx',
    '> "hit"',
    '>&hit',
    '2>&1>hit',
  ],
  [
    '12>/dev/null',
    '2>&1',
    '>/dev/null',
    '2>/dev/null',
    '> /dev/null 2>&1',
    '&>/dev/null',
    '< a.txt',
    '<<< x',
    '<<E\nx\nE',
  ],
].flat()
/** Beginnings and ends of groups and loops, of which some do not fit. */
const groups = [
  ['(', ')'],
  ['( ', ' )'],
  ['{ ', '; }'],
  ['{ ', '\n}'],
  ['for f in a.txt src "$X"; do ', '; done'],
  ['for f in *\ndo ', '\ndone'],
  ['for f in hit touch; do (', '); done'],
  ['for PATH in ../programs; do ', '; done'],
  ['for path in ../programs; do ', '; done'],
  ['for f in $(touch hit); do ', '; done'],
  ['for f in a; do ', '; done touch hit'],
  ['(', ') touch hit'],
  ['{ ', '; } always { touch hit; }'],
  ['() { touch hit; ', '; }'],
  ['while ', '; do false; done'],
  ['until ', '; do break; done'],
  ["'for' f in touch; do ", '; done'],
  ['((', '))'],
  ['for f in touch; ', ''],
  ['touch() { ', '; }; touch hit'],
] as const
const separators = [' | ', ' && ', ' || ', '; ', '\n', ' & ', ' |& ', ' ; ', '|']
/** The commands of programs that begin with one. */
const withCommands: Readonly<Record<string, readonly string[]>> = {
  docker: ['docker ps', 'docker logs', 'docker images', 'docker inspect', 'docker'],
  gh: ['gh pr view', 'gh pr list', 'gh pr checks', 'gh pr diff', 'gh issue view', 'gh issue list', 'gh'],
  npm: ['npm ls', 'npm view', 'npm'],
}
const programs = [...printingPrograms.split(' '), ...Object.keys(checkedPrograms())]
  .filter((name) => name !== 'sleep' && name !== 'exit')
  .flatMap((name) => withCommands[name] ?? [name])
const gitPrograms = [...Object.keys(readingGitCommands()), 'add', 'commit', 'checkout'].map(
  (name) => `git ${name}`,
)

/** The options of programs that are not asked for them: another option might do harm. */
const ofFunctions: Readonly<Record<string, string>> = {
  '[': '-f -t -eq = ! ]',
  arch: '-arm64 -x86_64',
  awk: '-F -F: -v -f',
  date: '-u -I -Id -R',
  gh: '--json -q --web -w --watch',
  hostname: '-f -s',
  find: '-name -o -not -newer',
  less: '-N -S -ohit -Ohit -o --log-file=hit -khit -R',
  env: '-i -u',
  lsof: '-n -P -i -t -p -D -Dbhit +D +d -F',
  npm: '-v --version --json -g --depth --depth=0 --prefix=hit --cache=hit --logs-dir=hit',
  printf: '-v %s %d %n',
  sed: '-n -e -ne -E -i -s',
  tar: '-tf tf -tzf -xf -cf --rsh-command=touch',
  test: '-f -t -eq = !',
  unzip: '-l -v -d -o',
  xxd: '-p -u -i -r -l5 -s1',
}

/**
 * Operands of programs for which the place of a word decides whether they write. `date` and `hostname` are
 * not among them: a mistake would change the machine.
 */
const placed: Readonly<Record<string, readonly string[]>> = {
  awk: [`'BEGIN{system("touch hit")}'`, 'a.txt'],
  less: ['a.txt', 'hit', "'+!touch hit'"],
  lsof: ['a.txt', ':80', 'hit'],
  npm: ['ls', 'view', 'init', 'a', 'user/a'],
  sed: ["'5p'", "'w hit'", 'a.txt'],
  tar: ['a.txt', 'host:hit'],
  uniq: ['a.txt', 'hit'],
  xxd: ['a.txt', 'hit'],
  'git branch': ['x', 'main'],
  'git config': ['user.name', 'x'],
  'git reflog': ['expire', 'show', 'HEAD'],
  'git remote': ['add', 'show', 'x'],
  'git symbolic-ref': ['HEAD', 'refs/heads/x'],
  'git tag': ['x', 'v1'],
}

const optionsInHelp = new Map<string, string[]>()

/** The options of a program in the version of this machine, those that write among them, and `--`. */
export function optionsOf(program: string): string[] {
  const known = optionsInHelp.get(program)
  if (known !== undefined) return known
  const [name = '', subcommand = ''] = program.split(' ')
  const help = name === 'git' ? [subcommand, '--git-completion-helper-all'] : ['--help']
  const isListed = name === 'git' || (name in checkedPrograms() && !(name in ofFunctions))
  const text = isListed
    ? spawnSync(name, help, { encoding: 'utf8', timeout: 5000 }).stdout
    : ofFunctions[name]
  const found = [
    '--',
    ...(isListed ? letters : []),
    ...(text ?? '').split(/[\s,[\]|]+/).filter((word) => /^--?[a-zA-Z][\w-]*=?$/.test(word)),
  ]
  optionsInHelp.set(program, found)
  return found
}

const letters = [...'abcdefghilmnopqrstuvwxzCDEFGIMOPSUX'].map((letter) => `-${letter}`)

/** Makes up a command of programs, options and syntax that read, with some that write. */
function makeUp(random: () => number): string {
  const oneOf = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? ''
  const sometimes = (chance: number, make: () => string): string[] => (random() < chance ? [make()] : [])
  if (random() < 0.3) {
    const program = oneOf(Object.keys(placed))
    const word = (): string => oneOf(random() < 0.5 ? optionsOf(program) : (placed[program] ?? []))
    return [program, ...Array.from({ length: 1 + Math.floor(random() * 4) }, word)].join(' ')
  }
  const simple = (): string => {
    const program = random() < 0.05 ? oneOf(writers) : oneOf(random() < 0.4 ? gitPrograms : programs)
    const option = (): string => oneOf(random() < 0.4 ? options : optionsOf(program))
    return [
      ...sometimes(0.03, () => 'X=hit'),
      ...sometimes(0.1, () => oneOf(wrappers)),
      program,
      ...sometimes(0.5, option),
      ...sometimes(0.2, option),
      ...sometimes(0.1, () => oneOf(redirections)),
      ...sometimes(0.6, () => oneOf(operands)),
      ...sometimes(0.3, option),
      ...sometimes(0.3, () => oneOf(operands)),
      ...sometimes(0.1, option),
      ...sometimes(0.2, () => oneOf(redirections)),
    ].join(' ')
  }
  const list = (): string => {
    const more = [...sometimes(0.3, simple), ...sometimes(0.1, simple)]
    return more.reduce((command, next) => command + oneOf(separators) + next, simple())
  }
  const grouped = (command: string): string => {
    const [begin, end] = groups[Math.floor(random() * groups.length)] ?? ['', '']
    return begin + command + end + sometimes(0.2, () => ` ${oneOf(redirections)}`).join('')
  }
  const command = random() < 0.3 ? grouped(list()) : list()
  return random() < 0.1
    ? grouped(command) + sometimes(0.5, () => oneOf(separators) + list()).join('')
    : command
}
