import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { copyPrograms } from '../../../test/support/copy-tree.ts'
import { hookBin } from '../../../test/support/hook-host.ts'
import { contentOf, hookAgents, HookUser } from '../../../test/support/hook-user.ts'
import { hosts } from '../../hook/hosts.ts'

interface Examined {
  agent: string
  ok: boolean
  problems: { problem: string; fix: string }[]
  notes: { problem: string; fix: string }[]
  without_node?: boolean
  latency?: { p50_ms: number; p95_ms: number; runs: number }
}

interface Data {
  hooks: Examined[]
  floor?: { node: { p50_ms: number }; sh: { p50_ms: number } }
  reasons: { reason: string; fix: string }[]
}

async function doctor(
  world: HookUser,
  ...args: string[]
): Promise<{ code: number | null; data: Data; error: unknown }> {
  const runs = args.includes('--runs') ? [] : ['--runs', '1']
  const finished = await world.hook(['doctor', ...runs, ...args])
  const { data, error } = finished.envelope()
  return { code: finished.code, data: data as Data, error }
}

const problemsOf = ({ data }: { data: Data }): string =>
  data.hooks.flatMap(({ problems }) => problems.map(({ problem }) => problem)).join('\n')

test('every installed hook is run and measured, and nothing changes', async () => {
  await using world = new HookUser()
  await world.git('init')
  await world.change('install', ...hookAgents, 'git', 'opencode')
  // Another session holds this workspace: the trial must neither see nor disturb its claim.
  await world.stint(['lock', 'acquire', '--session', 'another'], { cwd: world.project })
  const before = [contentOf(world.user), contentOf(world.project), contentOf(world.env.STINT_HOME ?? '')]
  const { code, data } = await doctor(world, '--runs', '2')
  expect(problemsOf({ data })).toBe('')
  expect([code, data.hooks.map(({ agent, ok }) => [agent, ok])]).toEqual([
    0,
    // VS Code runs the hooks of Claude Code.
    Object.keys(hosts)
      .filter((agent) => agent !== 'vscode')
      .map((agent) => [agent, true]),
  ])
  for (const { agent, latency } of data.hooks)
    if (agent !== 'git' && agent !== 'opencode')
      expect(latency).toMatchObject({ runs: 2, p50_ms: expect.any(Number), p95_ms: expect.any(Number) })
  expect(data.floor?.node.p50_ms).toBeGreaterThan(0)
  expect([contentOf(world.user), contentOf(world.project), contentOf(world.env.STINT_HOME ?? '')]).toEqual(
    before,
  )
})

test('a call of the session that holds starts no Node: the doctor proves it, and notes hooks that do', async () => {
  await using world = new HookUser()
  await world.change('install', 'claude', '--scope', 'paths')
  await world.change('install', 'codex', 'gemini')
  const withoutNode = async () => {
    const { code, data } = await doctor(world)
    const notes = data.hooks.flatMap(({ notes }) => notes.map(({ problem }) => problem))
    return {
      code,
      proved: data.hooks.map(({ agent, without_node }) => [agent, without_node]),
      isNoted: notes.some((problem) => problem.startsWith('every call starts Node')),
    }
  }
  const proved = [
    ['claude', true],
    ['codex', true],
    ['gemini', undefined],
  ]
  expect(await withoutNode()).toEqual({ code: 0, proved, isNoted: false })
  expect(await world.onTerminal('hook doctor --runs 1')).toContain('starts no Node for a call')
  // The command of an earlier version.
  const script = hookBin.replace(/cjs$/, 'sh')
  writeFileSync(world.file('claude'), world.read(world.file('claude')).replaceAll(`exec ${script} `, ''))
  proved[0] = ['claude', false]
  expect(await withoutNode()).toEqual({ code: 0, proved, isNoted: true })
})

test('hooks that wait are tried without the wait', async () => {
  await using world = new HookUser()
  await world.change('install', 'claude', 'opencode', '--wait', '1m', '--scope', 'paths')
  const { code, data } = await doctor(world)
  expect([code, problemsOf({ data })]).toEqual([0, ''])
})

test('the result is the same inside an agent and with STINT_BYPASS set', async () => {
  await using world = new HookUser()
  await world.change('install', 'codex', 'gemini')
  Object.assign(world.env, {
    CLAUDECODE: '1',
    CLAUDE_PID: '1',
    GEMINI_SESSION_ID: 'x',
    STINT_BYPASS: '1',
    STINT_SESSION_ID: 'stint-doctor',
  })
  expect(await doctor(world)).toMatchObject({ code: 0 })
})

test('a hook whose program is missing or broken: exit 3, with the reason and the fix', async () => {
  await using world = new HookUser()
  const installation = join(world.tmp, 'stint')
  copyPrograms(dirname(hookBin), installation)
  const install = () =>
    world.start(
      process.execPath,
      [join(installation, 'stint.cjs'), 'hook', 'install', 'claude', 'opencode'],
      {
        cwd: world.project,
      },
    ).finished
  await install()
  truncateSync(join(installation, 'stint-hook.cjs'))
  const broken = await doctor(world)
  expect(broken).toMatchObject({ code: 3, error: { code: 'HOOKS_BROKEN' } })
  expect(problemsOf(broken)).toContain('it allows a call although another session holds the workspace')
  rmSync(installation, { recursive: true })
  const gone = await doctor(world)
  expect(problemsOf(gone)).toContain(`it starts ${join(installation, 'stint-hook.sh')}, which does not exist`)
  expect(problemsOf(gone)).toContain(
    `it starts ${join(installation, 'opencode-plugin.mjs')}, which does not exist`,
  )
  expect(gone.data.hooks[0]?.problems[0]?.fix).toBe('stint hook install claude')
  await world.change('install', 'claude', 'opencode')
  expect((await doctor(world)).code).toBe(0)
})

test('on a terminal, the hooks that work are shown before the ones that do not', async () => {
  await using world = new HookUser()
  await world.change('install', 'claude', 'gemini')
  writeFileSync(world.file('claude'), '{}')
  const read = await world.onTerminal('hook doctor --runs 1')
  expect(read).toMatch(/Gemini CLI: allows and refuses calls as it should[^]*HOOKS_BROKEN/)
  expect(read).not.toContain('Claude Code: allows')
})

test('settings that were rewritten in part or as a whole after the installation are found', async () => {
  await using world = new HookUser()
  await world.change('install', 'claude')
  const path = world.file('claude')
  const whole = world.read(path)
  writeFileSync(path, whole.replace('"SessionEnd"', '"Other"'))
  expect(problemsOf(await doctor(world))).toContain('there is no hook for SessionEnd')
  writeFileSync(path, whole.replaceAll('|Monitor|PowerShell', ''))
  const old = await doctor(world)
  expect([old.code, problemsOf(old)]).toEqual([3, 'it does not guard Monitor, PowerShell'])
  await world.change('install', 'claude')
  expect(world.read(path)).toBe(whole)
  writeFileSync(path, '{}\n')
  const lost = await doctor(world)
  expect([lost.code, problemsOf(lost)]).toEqual([3, expect.stringContaining('rewritten')])
  writeFileSync(path, '{')
  expect((await doctor(world)).code).toBe(3)
})

test('a hook that always refuses is found', async () => {
  await using world = new HookUser()
  const fake = join(world.tmp, 'stint-hook.cjs')
  writeFileSync(fake, `process.stderr.write('no'); process.exitCode = 2`)
  await world.change('install', 'claude')
  writeFileSync(world.file('claude'), world.read(world.file('claude')).replaceAll(hookBin, fake))
  expect(problemsOf(await doctor(world))).toContain(
    'it refuses a call although no session holds the workspace: no',
  )
})

test.each<[what: string, agent: string, file: string, content: string, problem: string]>([
  [
    'Claude Code',
    'claude',
    '.claude/settings.local.json',
    '{"disableAllHooks": true}',
    'switches all hooks off',
  ],
  ['Gemini', 'gemini', '.gemini/settings.json', '{"hooksConfig": {"enabled": false}}', 'switches hooks off'],
  [
    'Gemini for ours',
    'gemini',
    '.gemini/settings.json',
    '{"hooksConfig": {"disabled": ["stint-pre"]}}',
    'switches these hooks off',
  ],
])('hooks that are switched off in %s are found', async (_, agent, file, content, problem) => {
  await using world = new HookUser()
  mkdirSync(dirname(join(world.project, file)), { recursive: true })
  writeFileSync(join(world.project, file), content)
  await world.change('install', agent)
  const found = await doctor(world, agent, '--user')
  expect([found.code, problemsOf(found)]).toEqual([3, expect.stringContaining(problem)])
})

test('a file that the agent cannot read: the installation warns, and the doctor finds it', async () => {
  await using world = new HookUser()
  mkdirSync(dirname(world.file('claude')))
  writeFileSync(world.file('claude'), '{\n  // mine\n  "model": "x"\n}\n')
  const installed = await world.hook(['install', 'claude'])
  expect(installed.envelope().warnings).toEqual([expect.stringContaining('cannot read a file with comments')])
  const found = await doctor(world)
  expect([found.code, problemsOf(found)]).toEqual([3, expect.stringContaining('ignores all of its settings')])
  mkdirSync(dirname(world.file('codex')))
  writeFileSync(world.file('codex'), '\uFEFF{}')
  expect((await world.hook(['install', 'codex'])).envelope().warnings).toEqual([
    expect.stringContaining('byte order mark'),
  ])
})

test('Codex: hooks that are off and an invalid config.toml are problems, untrusted hooks get a note', async () => {
  await using world = new HookUser()
  await world.change('install', 'codex')
  const config = join(world.user, '.codex/config.toml')
  writeFileSync(config, 'model = "x"\n[features]\nother = true\nhooks = false # for now\n')
  expect(problemsOf(await doctor(world))).toContain('config.toml switches hooks off')
  writeFileSync(config, 'features = { hooks = false }\n')
  expect(problemsOf(await doctor(world))).toContain('config.toml switches hooks off')
  writeFileSync(config, '[features\nhooks = false\n')
  expect(problemsOf(await doctor(world))).toMatch(/config\.toml is not valid TOML \(line 1, column \d+: /)
  writeFileSync(config, '[features]\nhooks = true\n[tools]\nhooks = false\n')
  const untrusted = await doctor(world)
  expect([untrusted.code, untrusted.data.hooks[0]?.notes[0]?.fix]).toEqual([0, 'enter /hooks in Codex'])
  writeFileSync(
    config,
    `[hooks.state."${world.file('codex')}:pre_tool_use:0:0"]\ntrusted_hash = "sha256:0"\n`,
  )
  expect((await doctor(world)).data.hooks[0]?.notes).toEqual([])
})

test.each([
  ['2.2.0 (Claude Code)', 'the hooks were checked with Claude Code 2.1.325, yours is 2.2.0'],
  ['2.1.325 (Claude Code)', undefined],
  ['2.1.90', undefined],
  ['no version', undefined],
])('an agent whose version is %s gets the note: %s', async (version, note) => {
  await using world = new HookUser()
  await world.change('install', 'claude')
  const program = `#!/bin/sh\ntouch "\${CLAUDE_CONFIG_DIR:-$HOME/.claude}/started"\necho '${version}'\nexit 1\n`
  writeFileSync(join(world.bin, 'claude'), program, { mode: 0o755 })
  const before = contentOf(world.user)
  const { code, data } = await doctor(world)
  expect(contentOf(world.user)).toEqual(before)
  expect([code, data.hooks[0]?.notes[0]?.problem]).toEqual([0, note])
})

test('the OpenCode plugin is run in the runtime inside OpenCode, if there is one', async () => {
  await using world = new HookUser()
  const log = join(world.tmp, 'log')
  // Runs a file as Bun does if BUN_BE_BUN is set; otherwise it acts as OpenCode.
  const script = `#!/bin/sh
[ "$BUN_BE_BUN" = 1 ] || exit 1
echo "$BUN_BE_BUN $1" >> '${log}'
if [ "$1" = -e ]; then echo "bun 1.3.14"; else shift; exec '${process.execPath}' "$@"; fi
`
  writeFileSync(join(world.bin, 'opencode'), script, { mode: 0o755 })
  await world.change('install', 'opencode')
  expect(await doctor(world, 'opencode')).toMatchObject({ code: 0 })
  expect(world.read(log)).toBe('1 -e\n1 run\n1 -e\n1 run\n')
})

test('hooks in the plugin and in the settings run twice: the doctor says so', async () => {
  await using world = new HookUser()
  mkdirSync(dirname(world.file('claude')))
  writeFileSync(world.file('claude'), '{"enabledPlugins": {"stint@stint": true}}')
  await world.change('install', 'claude')
  expect((await doctor(world)).data.hooks[0]?.notes[0]?.problem).toContain('every hook runs twice')
})

test('hooks in the settings of the user and of the project run twice: every command says so', async () => {
  await using world = new HookUser()
  await world.change('install', 'claude')
  const files = [world.file('claude'), join(world.project, '.claude/settings.json')]
  const namesBoth = (text = ''): boolean =>
    files.every((file) => text.includes(file)) && text.includes('every hook runs twice')
  const { warnings } = (await world.hook(['install', 'claude', '--project'])).envelope()
  expect(namesBoth(warnings.at(-1))).toBe(true)
  const piped = await world.stint(['hook', 'status'], { cwd: world.project, env: { STINT_OUTPUT: '' } })
  const withHome = piped.stdout.replaceAll('~', world.env.HOME ?? '')
  expect(withHome).not.toBe(piped.stdout)
  expect(piped.stdout).not.toContain(world.env.HOME)
  expect(withHome.split('\n').filter(namesBoth)).toHaveLength(2)
  const { hooks } = (await doctor(world)).data
  expect(hooks.map(({ notes }) => namesBoth(notes[0]?.problem))).toEqual([true, true])
  expect(namesBoth((await world.stint(['doctor'], { cwd: world.project })).stdout)).toBe(true)
  await world.change('uninstall', 'claude', '--project')
  expect(await world.onTerminal('hook status')).not.toContain('twice')
})

test('git: a hook that is not executable, or was replaced, is found', async () => {
  await using world = new HookUser()
  await world.git('init')
  await world.change('install', 'git')
  writeFileSync(join(world.project, '.git/hooks/pre-commit'), '#!/bin/sh\n')
  expect(problemsOf(await doctor(world, 'git'))).toContain('there is no guard in pre-commit')
  await world.change('install', 'git')
  chmodSync(join(world.project, '.git/hooks/pre-commit'), 0o644)
  expect(problemsOf(await doctor(world, 'git'))).toContain('git does not run hooks that are not executable')
})

test('project settings: a program that comes with the project is not run', async () => {
  await using world = new HookUser()
  await world.git('init')
  symlinkSync(hookBin, join(world.bin, 'stint-hook'))
  await world.change('install', 'claude', 'codex', '--project')
  await world.change('install', 'claude', '--local')
  await world.change('install', 'git')
  const ran = join(world.tmp, 'ran')
  const theirs = join(world.project, 'stint-hook')
  writeFileSync(theirs, `#!/bin/sh\ntouch '${ran}'\n`, { mode: 0o755 })
  const settings = join(world.project, '.claude/settings.json')
  writeFileSync(settings, world.read(settings).replaceAll('stint-hook', theirs))
  const local = join(world.project, '.claude/settings.local.json')
  writeFileSync(local, world.read(local).replaceAll(`${join(world.bin, 'node')} `, `${theirs} `))
  const plugin = join(world.project, '.opencode/plugins/stint.js')
  await world.change('install', 'opencode', '--project')
  writeFileSync(
    plugin,
    `${world.read(plugin)}import('node:fs').then(({ writeFileSync }) => writeFileSync('${ran}', ''))\n`,
  )
  const guard = join(world.project, '.git/hooks/pre-commit')
  writeFileSync(guard, world.read(guard).replace('# <<< stint', `touch '${ran}'\n# <<< stint`))
  const found = await doctor(world)
  expect(existsSync(ran)).toBe(false)
  expect(found.data.hooks.map(({ agent, ok }) => [agent, ok])).toEqual([
    ['claude', false],
    ['claude', false],
    ['codex', true],
    ['opencode', false],
    ['git', false],
  ])
  expect(problemsOf(found)).toContain(
    `it starts a file of the project, which was therefore not tried: ${theirs}`,
  )
})

test('git: the directory may have any name', async () => {
  await using world = new HookUser()
  const installation = join(world.tmp, `sé 'lä\n"ü`)
  copyPrograms(dirname(hookBin), installation)
  await world.git('init')
  const stint = [join(installation, 'stint.cjs'), 'hook']
  const run = (...args: string[]) =>
    world.start(process.execPath, [...stint, ...args, '--json'], { cwd: world.project }).finished
  await run('install', 'git')
  const { code, stdout } = await run('doctor', 'git', '--runs', '1')
  expect([code, stdout]).toEqual([0, expect.stringContaining('"state":"installed"')])
})

test('the hook before a tool call is the one that is run, wherever it stands in the file', async () => {
  await using world = new HookUser()
  await world.change('install', 'copilot')
  const { version, hooks } = JSON.parse(world.read(world.file('copilot'))) as Record<string, object>
  const turned = Object.fromEntries(Object.entries(hooks ?? {}).toReversed())
  writeFileSync(world.file('copilot'), JSON.stringify({ version, hooks: turned }))
  expect(await doctor(world, 'copilot')).toMatchObject({ code: 0 })
})

test('a named agent without hooks: exit 3; no hooks at all: exit 0', async () => {
  await using world = new HookUser()
  expect(await doctor(world)).toMatchObject({ code: 0, data: { hooks: [] } })
  expect(await doctor(world, 'claude')).toMatchObject({ code: 3, error: { code: 'HOOKS_BROKEN' } })
})

test('a variable that slows down every start is measured and named, with a fix', async () => {
  await using world = new HookUser()
  await world.change('install', 'claude')
  const slow = join(world.tmp, 'slow.cjs')
  writeFileSync(slow, 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)')
  world.env.NODE_OPTIONS = `--require ${slow}`
  const { data } = await doctor(world, 'claude')
  expect(data.reasons).toContainEqual({
    reason: expect.stringMatching(/^NODE_OPTIONS costs every start of node \d+/),
    fix: 'start the agent without it',
  })
})
