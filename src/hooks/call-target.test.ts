import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { callTargets, commandDirectories, touchedPaths } from './call-target.ts'

test('each file of a patch is listed once', () => {
  const command = `*** Begin Patch
*** Add File: a.ts
+*** Update File: not this
*** Update File: b.ts
*** Move to: c.ts
*** Delete File: d.ts
*** Update File: b.ts
*** End Patch`
  expect(touchedPaths({ input: { command } })).toEqual(['a.ts', 'b.ts', 'c.ts', 'd.ts'])
  expect(touchedPaths({ input: { command: 7 } })).toEqual([])
})

test('blanks before the header of a patch, which Codex takes, do not hide its file', () => {
  const command = ' \t*** Update File: a.ts\n*** End Patch'
  expect(touchedPaths({ input: { command } })).toEqual(['a.ts'])
})

test.each<[object, string[]]>([
  [{ filePath: 'a', oldString: '' }, ['a']],
  [{ replacements: [{ filePath: 'a' }, { filePath: 'b' }] }, ['a', 'b']],
  [{ dirPath: 'new' }, ['new']],
  [{ files: ['a', 'b'] }, ['a', 'b']],
  [{ files: [{ path: 'a' }] }, ['a']],
  [{ file_path: 'a', edits: [{ old_string: '' }] }, ['a']],
  [{ content: 'x' }, []],
])('the files of %j are %j', (input, files) => {
  expect(touchedPaths({ input: input as Record<string, unknown> })).toEqual(files)
})

test.each([
  ['make', '/w'],
  ['cd sub && make', '/w/sub'],
  ["cd 'a b' && make", '/w/a b'],
  ['cd "/etc" ; make', '/etc'],
  ['cd /etc\nmake', '/etc'],
  ['cd sub/missing; make', '/w'],
  ['cd sub/missing && make', '/w/sub/missing'],
  ['cd sub/missing || exit 1; make', '/w/sub/missing'],
  ['cd sub || exit\nmake', '/w/sub'],
  ['cd sub 2>/dev/null && make', '/w/sub'],
  ['cd sub || make', '/w'],
  ['cd sub && cd .. && cd sub && make', '/w/sub'],
  ['cd ~/code && make', '/home/u/code'],
  ['git -C ../other commit', '/other'],
  ['cd sub && git -C deep commit', '/w/sub/deep'],
  ['cd $HOME && make', '/w'],
  ['cd `pwd`/x && make', '/w'],
  ['cd "$x" && make', '/w'],
  ['cd', '/w'],
  ['cdx && make', '/w'],
  ['(cd sub && make)', '/w'],
  ['cd a b && make', '/w'],
  ['cd /etc/passwd; make', '/w'],
  ["git -C ../other commit -m 'a; b'", '/other'],
])('the command %j belongs to %s', (command, directory) => {
  expect(commandDirectories({ input: { command } }, '/w', { HOME: '/home/u' })).toEqual([directory])
})

test.each([
  ['git -C ../other pull && make', '/other'],
  ['git -C ../other pull\nmake', '/other'],
  ['cd ../other && make && cd - && make', '/other'],
  ['cd /etc; make; (cd /w && make)', '/etc'],
])('the command %j belongs to %s and to the agent', (command, directory) => {
  expect(commandDirectories({ input: { command } }, '/w', {})).toEqual([directory, '/w'])
})

test.each([
  [{ dir_path: 'lib' }, '/w/lib'],
  [{ directory: '/etc' }, '/etc'],
  [{ workdir: '/etc' }, '/etc'],
  [{ working_directory: '../v' }, '/v'],
  [{ workdir: 7 }, '/w'],
])('a command with %j belongs to %s', (input, directory) => {
  expect(commandDirectories({ input: { command: 'make', ...input } }, '/w', {})).toEqual([directory])
})

test('a patch in a command needs its files, too', () => {
  const command = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: /etc/x\n+a\n*** End Patch\nEOF\n"
  const tool = { name: 'Bash', use: 'shell' as const, input: { command } }
  for (const scope of ['workspace', 'paths'] as const)
    expect(callTargets({ cwd: '/usr' }, tool, scope, {}).flatMap(({ paths }) => paths)).toEqual([
      '/etc/x',
      '/usr',
    ])
})

test('a command in the home, above it, or in a directory for temporary files claims nothing', () => {
  const env = { HOME: '/home/u', TMPDIR: '/scratch' }
  const targets = (cwd: string) =>
    callTargets({ cwd }, { name: 'Bash', use: 'shell', input: { command: 'make' } }, 'workspace', env)
  for (const cwd of ['/', '/home', '/home/u', '/tmp', '/var/tmp', '/scratch'])
    expect([cwd, targets(cwd)]).toEqual([cwd, []])
  expect(targets('/home/u/notes')).toMatchObject([{ paths: ['/home/u/notes'] }])
})

test('an edit in an agent’s own directory, below the home or in its variable, claims nothing', async () => {
  await using world = new World()
  const HOME = join(world.tmp, 'home')
  const makeDirectory = (name: string): string => {
    mkdirSync(join(HOME, name), { recursive: true })
    return join(HOME, name)
  }
  const claims = (directory: string, env: NodeJS.ProcessEnv): boolean => {
    const input = { file_path: join(directory, 'plan.md') }
    return callTargets({ cwd: HOME }, { name: 'Write', use: 'edit', input }, 'workspace', env).length > 0
  }
  const names = '.claude .codex .cursor .copilot .gemini .qwen .config/opencode .local/share/opencode'
  for (const own of names.split(' ').map(makeDirectory)) {
    expect([own, claims(own, { HOME })]).toEqual([own, false])
    expect([own, claims(own, {})]).toEqual([own, true])
  }
  const moved = makeDirectory('moved')
  expect(claims(moved, { HOME })).toBe(true)
  for (const variable of ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'COPILOT_HOME', 'QWEN_HOME'])
    expect([variable, claims(moved, { HOME, [variable]: moved })]).toEqual([variable, false])
})
