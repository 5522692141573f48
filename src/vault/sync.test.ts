import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { generationsOf } from '../../test/support/vault-contents.ts'
import { World } from '../../test/support/world.ts'
import { changeExclusions } from './exclusions.ts'
import { listConversations, readConversationSummary, surveyVault } from './list-conversations.ts'
import { openVault, syncVault } from './sync.ts'
import type { VaultAgent } from './places.ts'

afterEach(() => vi.unstubAllEnvs())

/** Of this file alone: a conversation whose id a process names counts as open. */
const id = '3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b02'
const other = '4a7d9b63-1f2e-4a8b-8c2d-3e4f5a6b7c8d'
const dayMs = 86_400_000

/** A user with agents, whose home directory is in this world. */
class User extends World {
  readonly home = join(this.tmp, 'user')
  readonly vault: string

  constructor() {
    super()
    mkdirSync(this.home)
    vi.stubEnv('HOME', this.home)
    vi.stubEnv('STINT_HOME', join(this.tmp, 'home'))
    for (const name of [
      'CLAUDE_CONFIG_DIR',
      'CODEX_HOME',
      'GEMINI_CLI_HOME',
      'QWEN_RUNTIME_DIR',
      'QWEN_HOME',
      'COPILOT_HOME',
    ])
      vi.stubEnv(name, '')
    this.vault = openVault()
  }

  /** Writes a file of an agent as it was yesterday. */
  write(path: string, text: string, ageMs = dayMs): string {
    const file = join(this.home, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    const time = (Date.now() - ageMs) / 1000
    utimesSync(file, time, time)
    return file
  }

  kept(agent: VaultAgent, conversation: string, name: string): string[] {
    return generationsOf(join(this.vault, agent, conversation), name)
  }

  ids(agent: VaultAgent): string[] {
    return listConversations(this.vault, [agent])
      .map((each) => each.id)
      .sort()
  }
}

const claudeLine = (text: string, cwd = '/work/app'): string =>
  `${JSON.stringify({ type: 'user', cwd, message: { role: 'user', content: text } })}\n`

test('the files of every agent are found where it keeps them, under the id of the conversation', async () => {
  await using user = new User()
  const files: [VaultAgent, conversation: string, path: string, name: string][] = [
    ['claude', id, `.claude/projects/-work-app/${id}.jsonl`, `${id}.jsonl`],
    [
      'claude',
      id,
      `.claude/projects/-work-app/${id}/subagents/agent-1.jsonl`,
      `${id}/subagents/agent-1.jsonl`,
    ],
    ['claude', id, `.claude/projects/-work-app/${id}/tool-results/a b.txt`, `${id}/tool-results/a b.txt`],
    [
      'codex',
      id,
      `.codex/sessions/2026/11/17/rollout-2026-11-17T10-00-00-${id}.jsonl`,
      `rollout-2026-11-17T10-00-00-${id}.jsonl`,
    ],
    [
      'codex',
      id,
      `.codex/sessions/2026/11/18/rollout-2026-11-18T10-00-00-${id}_${other}.jsonl`,
      `rollout-2026-11-18T10-00-00-${id}_${other}.jsonl`,
    ],
    [
      'codex',
      other,
      `.codex/archived_sessions/rollout-2026-11-17T10-00-00-${other}.jsonl.zst`,
      `rollout-2026-11-17T10-00-00-${other}.jsonl.zst`,
    ],
    [
      'gemini',
      id,
      '.gemini/tmp/app/chats/session-2026-11-17T10-00-3f6c8a52.jsonl',
      'session-2026-11-17T10-00-3f6c8a52.jsonl',
    ],
    ['gemini', id, `.gemini/tmp/app/chats/${id}/sub.jsonl`, `${id}/sub.jsonl`],
    ['qwen', id, `.qwen/projects/-work-app/chats/${id}.jsonl`, `${id}.jsonl`],
    ['qwen', id, `.qwen/projects/-work-app/chats/${id}.runtime.json`, `${id}.runtime.json`],
    ['copilot', id, `.copilot/session-state/${id}/events.jsonl`, `${id}/events.jsonl`],
    ['copilot', id, `.copilot/session-state/${id}/plan.md`, `${id}/plan.md`],
  ]
  for (const [agent, , path] of files) user.write(path, `{"sessionId":"${id}","kept of":"${agent}"}\n`)
  for (const path of [`.copilot/session-state/${id}/inuse.4.lock`, '.claude/projects/-work-app/notes.txt'])
    user.write(path, 'x\n')
  const report = await syncVault(user.vault)
  expect(report).toMatchObject({
    conversations: 6,
    copied: 6,
    unread: [],
  })
  for (const [agent, conversation, path, name] of files)
    expect(user.kept(agent, conversation, name), path).toEqual([readFileSync(join(user.home, path), 'utf8')])
  expect(await syncVault(user.vault)).toMatchObject({ conversations: 6, copied: 0, bytes: 0 })
})

test.each<[variable: string, agent: VaultAgent, path: string]>([
  ['CLAUDE_CONFIG_DIR', 'claude', `projects/p/${id}.jsonl`],
  ['CODEX_HOME', 'codex', `sessions/2026/11/17/rollout-2026-11-17T10-00-00-${id}.jsonl`],
  ['GEMINI_CLI_HOME', 'gemini', '.gemini/tmp/app/chats/session-2026-11-17T10-00-3f6c8a52.jsonl'],
  ['QWEN_HOME', 'qwen', `projects/p/chats/${id}.jsonl`],
  ['QWEN_RUNTIME_DIR', 'qwen', `projects/p/chats/${id}.jsonl`],
  ['COPILOT_HOME', 'copilot', `session-state/${id}/events.jsonl`],
])('%s moves the directory of its agent', async (variable, agent, path) => {
  await using user = new User()
  vi.stubEnv(variable, join(user.home, 'elsewhere'))
  user.write(`elsewhere/${path}`, `{"sessionId":"${id}"}\n`)
  user.write(`.claude/projects/p/${other}.jsonl`, 'one\n')
  await syncVault(user.vault)
  expect(user.ids(agent)).toEqual([id])
})

test('a conversation of Codex has the rollouts that it continues, over several steps', async () => {
  await using user = new User()
  const [third, name] = [
    '5b8e0c74-2a3f-4b9c-9d3e-4f5a6b7c8d9e',
    (day: number, each: string) => `rollout-2026-11-${day}T10-00-00-${each}.jsonl`,
  ]
  const write = (day: number, each: string, base?: string): string =>
    user.write(
      `.codex/sessions/2026/11/${day}/${name(day, each)}`,
      `${JSON.stringify({ type: 'session_meta', payload: { id: each, ...(base && { history_base: { ordinal: 3, thread_id: base } }) } })}\n`,
    )
  write(15, id)
  write(16, other, id)
  write(17, third, other)
  await syncVault(user.vault)
  const kept = readdirSync(join(user.vault, 'codex', third, '1')).sort()
  expect(kept).toEqual([name(15, id), name(16, other), name(17, third)])
  expect(readdirSync(join(user.vault, 'codex', id, '1'))).toEqual([name(15, id)])
})

test('a conversation that its agent moves to another directory stays one generation', async () => {
  await using user = new User()
  const from = user.write(`.claude/projects/one/${id}.jsonl`, 'one\n')
  await syncVault(user.vault)
  mkdirSync(join(user.home, '.claude/projects/two'))
  const to = join(user.home, `.claude/projects/two/${id}.jsonl`)
  renameSync(from, to)
  appendFileSync(to, 'two\n')
  await syncVault(user.vault)
  expect(user.kept('claude', id, `${id}.jsonl`)).toEqual(['one\ntwo\n'])
  expect(listConversations(user.vault)).toMatchObject([{ id, generations: 1, source: to }])
})

test('a rollout that Codex archives, and one that it compresses under another name, stay in their conversation', async () => {
  await using user = new User()
  const name = `rollout-2026-11-17T10-00-00-${id}.jsonl`
  const from = user.write(`.codex/sessions/2026/11/17/${name}`, 'one\n')
  await syncVault(user.vault)
  mkdirSync(join(user.home, '.codex/archived_sessions'))
  renameSync(from, join(user.home, '.codex/archived_sessions', name))
  await syncVault(user.vault)
  expect(user.kept('codex', id, name)).toEqual(['one\n'])
  expect(listConversations(user.vault)).toMatchObject([{ id, generations: 1 }])
  rmSync(join(user.home, '.codex/archived_sessions', name))
  user.write(`.codex/archived_sessions/${name}.zst`, 'compressed')
  await syncVault(user.vault)
  expect(user.kept('codex', id, name)).toEqual(['one\n'])
  expect(user.kept('codex', id, `${name}.zst`)).toEqual(['compressed'])
  expect(listConversations(user.vault)[0]?.lost_after).toBeNull()
})

test('the agent’s directory and its first level may be links; a link further down is named, and not followed', async () => {
  await using user = new User()
  user.write(`disk/claude/p/${id}.jsonl`, 'one\n')
  mkdirSync(join(user.home, 'disk/dot-claude'))
  symlinkSync(join(user.home, 'disk/dot-claude'), join(user.home, '.claude'))
  symlinkSync(join(user.home, 'disk/claude'), join(user.home, 'disk/dot-claude/projects'))
  user.write('secret.jsonl', 'secret\n')
  const link = join(user.home, `disk/claude/p/${other}.jsonl`)
  symlinkSync(join(user.home, 'secret.jsonl'), link)
  symlinkSync(join(user.home, 'disk'), join(user.home, 'disk/claude/loop'))
  const { unread } = await syncVault(user.vault)
  expect(user.ids('claude')).toEqual([id])
  expect(unread.map(({ error }) => error)).toEqual(['link'])
})

test('a name that is no text is named; a transcript whose name cannot be an id is left', async () => {
  await using user = new User()
  user.write(`.claude/projects/p/${id}.jsonl`, 'one\n')
  user.write(`.claude/projects/p/with space.jsonl`, 'one\n')
  const directory = join(user.home, '.claude/projects/p')
  writeFileSync(
    Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff]), Buffer.from('.jsonl')]),
    'x',
  )
  expect((await syncVault(user.vault)).unread).toMatchObject([{ error: 'name' }])
  expect(user.ids('claude')).toEqual([id])
})

test('a conversation that disappears is kept, with the time at which it was last there', async () => {
  await using user = new User()
  const file = user.write(`.claude/projects/p/${id}.jsonl`, claudeLine('tidy up'))
  const lostAfter = () => listConversations(user.vault)[0]?.lost_after
  await syncVault(user.vault)
  expect(listConversations(user.vault).map(readConversationSummary)).toEqual([
    { title: 'tidy up', workspace: '/work/app' },
  ])
  expect(lostAfter()).toBeNull()
  const before = Date.now()
  await syncVault(user.vault, { agents: ['claude'] })
  const after = Date.now()
  rmSync(file)
  const lastThere = lostAfter() ?? 0
  expect([lastThere >= before, lastThere <= after]).toEqual([true, true])
  for (let round = 0; round < 2; round++) {
    await syncVault(user.vault)
    expect(lostAfter()).toBe(lastThere)
  }
  expect(user.kept('claude', id, `${id}.jsonl`)).toEqual([claudeLine('tidy up')])
  user.write(`.claude/projects/p/${id}.jsonl`, claudeLine('tidy up'))
  await syncVault(user.vault)
  expect(lostAfter()).toBeNull()
  rmSync(file)
  expect(lostAfter()).toBeGreaterThan(lastThere)
})

test('a conversation in a directory that the agent had before is not lost', async () => {
  await using user = new User()
  user.write(`.claude/projects/p/${id}.jsonl`, claudeLine('tidy up'))
  await syncVault(user.vault)
  vi.stubEnv('CLAUDE_CONFIG_DIR', join(user.home, 'elsewhere'))
  await syncVault(user.vault)
  expect(listConversations(user.vault)[0]?.lost_after).toBeNull()
  vi.stubEnv('CLAUDE_CONFIG_DIR', '')
  rmSync(join(user.home, '.claude'), { recursive: true })
  expect(listConversations(user.vault)[0]?.lost_after).toBeGreaterThan(0)
})

test('a survey counts what is due for deletion and not kept, and what only traces are left of', async () => {
  await using user = new User()
  user.write(`.claude/projects/p/${id}.jsonl`, 'one\n', 26 * dayMs)
  user.write(`.claude/projects/p/${other}.jsonl`, 'one\n')
  mkdirSync(join(user.home, '.claude/projects/p/6c9f1d85-3b4a-4c0d-8e4f-5a6b7c8d9e0f'))
  mkdirSync(join(user.home, '.claude/projects/p/memory'))
  user.write('.codex/session_index.jsonl', `{"id":"${id}","thread_name":"a"}\n`)
  user.write('.gemini/settings.json', '{"general":{"sessionRetention":{"maxAge":"2d"}}}')
  user.write('.gemini/tmp/app/chats/session-2026-11-17T10-00-3f6c8a52.jsonl', '{}\n')
  const survey = () => surveyVault(user.vault).agents
  expect(survey()).toMatchObject([
    { agent: 'claude', kept: 0, new: 2, due: 1, gone: 1 },
    { agent: 'codex', new: 0, gone: 1 },
    { agent: 'gemini', new: 1, due: 1 },
  ])
  await syncVault(user.vault)
  expect(survey()).toMatchObject([
    { agent: 'claude', kept: 2, new: 0, due: 0, gone: 1 },
    { agent: 'codex', gone: 1 },
    { agent: 'gemini', kept: 1, due: 0 },
  ])
  const [first] = listConversations(user.vault, ['claude']).toReversed()
  expect(Math.round(((first?.due_at ?? 0) - Date.now()) / dayMs)).toBe(4)
  user.write('.claude/settings.json', '{"cleanupPeriodDays":90}')
  const [later] = listConversations(user.vault, ['claude']).toReversed()
  expect(Math.round(((later?.due_at ?? 0) - Date.now()) / dayMs)).toBe(64)
})

test('agents, directories and conversations that are excluded are not copied, until they are included again', async () => {
  await using user = new User()
  user.write(`.claude/projects/p/${id}.jsonl`, claudeLine('a', '/work/private/deep'))
  user.write(`.claude/projects/p/${other}.jsonl`, claudeLine('b'))
  user.write(`.qwen/projects/p/chats/${id}.jsonl`, claudeLine('c'))
  await changeExclusions(user.vault, { add: ['qwen', '/work/private'] })
  expect(await syncVault(user.vault)).toMatchObject({ copied: 1, excluded: 1 })
  expect([user.ids('claude'), user.ids('qwen')]).toEqual([[other], []])
  await changeExclusions(user.vault, { remove: ['qwen', '/work/private'] })
  expect(await syncVault(user.vault)).toMatchObject({ copied: 2, excluded: 0 })
})

test('several syncs at once store everything once', async () => {
  await using user = new User()
  for (let n = 100; n < 140; n++)
    user.write(`.claude/projects/p/${id.slice(0, -3)}${n}.jsonl`, `${'x'.repeat(n)}\n`)
  const reports = await Promise.all(Array.from({ length: 4 }, () => syncVault(user.vault)))
  expect(reports.reduce((sum, { copied }) => sum + copied, 0)).toBe(40)
  for (const conversation of user.ids('claude'))
    expect(user.kept('claude', conversation, `${conversation}.jsonl`)[0]).toMatch(/^x+\n$/)
})
