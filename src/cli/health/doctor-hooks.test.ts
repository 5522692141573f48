import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { plantCodex, trustingCodex } from '../../../test/support/codex-stand-in.ts'
import { copyPrograms } from '../../../test/support/copy-tree.ts'
import { hookBin } from '../../../test/support/hook-host.ts'
import { contentOf, hookAgents, HookUser } from '../../../test/support/hook-user.ts'
import { hosts } from '../../hooks/hosts/hosts.ts'
import type { Check, Level } from './check.ts'

/** What `stint doctor` says about hooks. */
interface HookDiagnosis {
  code: number | null
  /** The findings, each with its fix. */
  problems: string[]
  fixes: string[]
  notes: string[]
  /** One entry for each hook that was tried and works. */
  working: string[]
}

async function doctor(world: HookUser): Promise<HookDiagnosis> {
  const finished = await world.stint(['doctor', '--json'], { cwd: world.project })
  const { checks } = finished.envelope().data as { checks: Check[] }
  const hooks = checks.filter(({ name }) => name === 'hooks')
  const at = (wanted: Level): Check[] => hooks.filter(({ level }) => level === wanted)
  return {
    code: finished.code,
    problems: at('fail').map(({ text }) => text),
    fixes: at('fail').map(({ fix }) => fix ?? ''),
    notes: at('warn').map(({ text, fix }) => `${text}; ${fix}`),
    working: at('ok').flatMap(
      ({ text }) => /^(.*) \(.*: allows and refuses calls as it should$/.exec(text)?.[1] ?? [],
    ),
  }
}

test('every installed hook is run, and nothing changes', async () => {
  await using world = new HookUser()
  await world.git('init')
  await world.change('install', ...hookAgents, 'git', 'opencode')
  // Another session holds this workspace: the trial must neither see nor disturb its claim.
  await world.stint(['lock', 'acquire', '--session', 'another'], { cwd: world.project })
  const before = [contentOf(world.user), contentOf(world.project), contentOf(world.env.STINT_HOME ?? '')]
  const { code, problems, notes, working } = await doctor(world)
  expect([code, problems]).toEqual([0, []])
  expect(notes).toEqual([expect.stringMatching(/^Codex .*trust/)])
  // VS Code runs the hooks of Claude Code.
  const { vscode: _, codex: __, ...others } = hosts
  expect(working).toEqual(Object.values(others).map(({ title }) => title))
  expect([contentOf(world.user), contentOf(world.project), contentOf(world.env.STINT_HOME ?? '')]).toEqual(
    before,
  )
  expect(world.leftovers()).toEqual([])
})

test('hooks that wait are tried without the wait', async () => {
  await using world = new HookUser()
  await world.change('install', 'claude', 'opencode', '--wait', '1m', '--scope', 'paths')
  const { code, working } = await doctor(world)
  expect([code, working]).toEqual([0, ['Claude Code', 'OpenCode']])
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
  expect(await doctor(world)).toMatchObject({ code: 0, problems: [], working: ['Gemini CLI'] })
})

test('a hook whose program is missing or broken: exit 4, with the reason and the fix', async () => {
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
  expect(broken.code).toBe(4)
  expect(broken.problems.join('\n')).toContain(
    'it allows a call although another session holds the workspace',
  )
  rmSync(installation, { recursive: true })
  const gone = await doctor(world)
  expect(gone.problems.join('\n')).toContain(
    `it starts ${join(installation, 'stint-hook.sh')}, which does not exist`,
  )
  expect(gone.problems.join('\n')).toContain(
    `it starts ${join(installation, 'opencode-plugin.mjs')}, which does not exist`,
  )
  expect(gone.fixes[0]).toBe('stint hook install claude')
  await world.change('install', 'claude', 'opencode')
  expect((await doctor(world)).code).toBe(0)
})

test('settings that were rewritten in part or as a whole after the installation are found', async () => {
  await using world = new HookUser()
  await world.change('install', 'claude')
  const path = world.file('claude')
  const whole = world.read(path)
  writeFileSync(path, whole.replace('"SessionEnd"', '"Other"'))
  expect((await doctor(world)).problems.join('\n')).toContain('there is no hook for SessionEnd')
  writeFileSync(path, whole.replaceAll('|Monitor|PowerShell', ''))
  const old = await doctor(world)
  expect([old.code, old.problems.join('\n')]).toEqual([
    4,
    expect.stringContaining('it does not guard Monitor, PowerShell'),
  ])
  await world.change('install', 'claude')
  expect(world.read(path)).toBe(whole)
  writeFileSync(path, '{}\n')
  const gone = await doctor(world)
  expect([gone.code, gone.notes[0]]).toEqual([0, expect.stringContaining('without hooks, Claude Code can')])
  writeFileSync(path, '{"stint-hook')
  expect((await doctor(world)).code).toBe(4)
})

test('a hook that always refuses is found', async () => {
  await using world = new HookUser()
  const fake = join(world.tmp, 'stint-hook.cjs')
  writeFileSync(fake, `process.stderr.write('no'); process.exitCode = 2`)
  await world.change('install', 'claude')
  writeFileSync(world.file('claude'), world.read(world.file('claude')).replaceAll(hookBin, fake))
  expect((await doctor(world)).problems.join('\n')).toContain(
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
  const found = await doctor(world)
  expect([found.code, found.problems.join('\n')]).toEqual([4, expect.stringContaining(problem)])
})

test('a file that the agent cannot read: the installation warns, and the doctor finds it', async () => {
  await using world = new HookUser()
  mkdirSync(dirname(world.file('claude')))
  writeFileSync(world.file('claude'), '{\n  // mine\n  "model": "x"\n}\n')
  const installed = await world.hook(['install', 'claude'])
  expect(installed.envelope().warnings).toEqual([expect.stringContaining('cannot read a file with comments')])
  const found = await doctor(world)
  expect([found.code, found.problems.join('\n')]).toEqual([
    4,
    expect.stringContaining('ignores all of its settings'),
  ])
})

test('Codex: hooks that are switched off and an invalid config.toml are problems', async () => {
  await using world = new HookUser()
  await world.change('install', 'codex')
  const config = join(world.user, '.codex/config.toml')
  const problems = async (): Promise<string> => (await doctor(world)).problems.join('\n')
  writeFileSync(config, 'model = "x"\n[features]\nother = true\nhooks = false # for now\n')
  expect(await problems()).toContain('config.toml switches hooks off')
  writeFileSync(config, 'features = { hooks = false }\n')
  expect(await problems()).toContain('config.toml switches hooks off')
  writeFileSync(config, '[features\nhooks = false\n')
  expect(await problems()).toMatch(/config\.toml is not valid TOML \(.* in line 1, column \d+\)/)
  writeFileSync(config, '[features]\nhooks = true\n[tools]\nhooks = false\n')
  expect(await problems()).toBe('')
})

test('Codex: install, hook status and the doctor say whether Codex runs the hooks, and what to press', async () => {
  await using world = new HookUser()
  const path = world.file('codex')
  const said = async (...options: string[]): Promise<Record<string, unknown>> => {
    const { next } = (await world.hook(['install', 'codex', ...options])).envelope().data as {
      next: string[]
    }
    const { hooks } = (await world.hook(['status'])).envelope().data as { hooks: { trust: string }[] }
    const { code, problems, notes } = await doctor(world)
    return { next: next[0], status: hooks[0]?.trust, code, doctor: [...problems, ...notes].join('\n') }
  }
  const presses = (what: string): unknown => expect.stringMatching(new RegExp(`${what}.*/hooks and press t`))
  const nothing = 'it is not known whether Codex trusts these hooks'
  expect(await said()).toEqual({
    next: presses(nothing),
    status: 'unknown',
    code: 0,
    doctor: presses(nothing),
  })
  trustingCodex(world.bin, path, 'untrusted')
  expect(await said()).toEqual({
    next: presses('you have not trusted them yet'),
    status: 'untrusted',
    code: 4,
    doctor: expect.stringContaining('you have not trusted them yet'),
  })
  trustingCodex(world.bin, path, 'trusted')
  const trusted = await said()
  expect(trusted).toMatchObject({ status: 'trusted', code: 0, doctor: '' })
  expect(trusted.next).not.toContain('Codex')
  trustingCodex(world.bin, path, 'modified', 'trusted')
  expect(await said('--wait', '20s')).toEqual({
    next: presses('have changed since you trusted them, and so refuses no call'),
    status: 'modified',
    code: 4,
    doctor: expect.stringContaining('have changed since you trusted them'),
  })
  const shown = (await world.onTerminal('hook status')).replaceAll(/\s+/g, ' ')
  expect(shown).toContain(
    'have changed since you trusted them, and so refuses no call; start Codex, enter /hooks',
  )
})

test('stint status does not start Codex', async () => {
  await using world = new HookUser()
  await world.change('install', 'codex')
  plantCodex(world.bin, `touch '${world.tmp}/started'; exec cat`)
  await world.stint(['status'], { cwd: world.project })
  expect(existsSync(join(world.tmp, 'started'))).toBe(false)
})

test('hooks in the plugin and in the settings run twice: the doctor says so', async () => {
  await using world = new HookUser()
  mkdirSync(dirname(world.file('claude')))
  writeFileSync(world.file('claude'), '{"enabledPlugins": {"stint@stint": true}}')
  await world.change('install', 'claude')
  expect((await doctor(world)).notes[0]).toContain('every hook runs twice')
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
  expect((await doctor(world)).notes.map(namesBoth)).toEqual([true, true])
  expect(namesBoth((await world.stint(['doctor'], { cwd: world.project })).stdout)).toBe(true)
  await world.change('uninstall', 'claude', '--project')
  expect(await world.onTerminal('hook status')).not.toContain('twice')
})

test('git: a hook that is not executable, or was replaced, is found', async () => {
  await using world = new HookUser()
  await world.git('init')
  await world.change('install', 'git')
  writeFileSync(join(world.project, '.git/hooks/pre-commit'), '#!/bin/sh\n')
  expect((await doctor(world)).problems.join('\n')).toContain('there is no guard in pre-commit')
  await world.change('install', 'git')
  chmodSync(join(world.project, '.git/hooks/pre-commit'), 0o644)
  expect((await doctor(world)).problems.join('\n')).toContain(
    'git does not run hooks that are not executable',
  )
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
  for (const title of ['Claude Code', 'OpenCode', 'git'])
    expect(found.problems.join('\n')).toMatch(new RegExp(`^${title} `, 'm'))
  expect(found.problems.join('\n')).toContain(
    `it starts a file of the project, which was therefore not tried: ${theirs}`,
  )
})

test('git: the directory may have any name', async () => {
  await using world = new HookUser()
  const installation = join(world.tmp, `sé 'lä\n"ü`)
  copyPrograms(dirname(hookBin), installation)
  await world.git('init')
  const run = (...args: string[]) =>
    world.start(process.execPath, [join(installation, 'stint.cjs'), ...args, '--json'], {
      cwd: world.project,
    }).finished
  await run('hook', 'install', 'git')
  const { code, stdout } = await run('doctor')
  expect([code, stdout]).toEqual([0, expect.stringContaining('allows and refuses calls as it should')])
})

test('the hook before a tool call is the one that is run, wherever it stands in the file', async () => {
  await using world = new HookUser()
  await world.change('install', 'copilot')
  const { version, hooks } = JSON.parse(world.read(world.file('copilot'))) as Record<string, object>
  const turned = Object.fromEntries(Object.entries(hooks ?? {}).toReversed())
  writeFileSync(world.file('copilot'), JSON.stringify({ version, hooks: turned }))
  expect(await doctor(world)).toMatchObject({ code: 0, working: ['Copilot CLI'] })
})
