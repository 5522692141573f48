import { spawn } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { Terminal } from '../../../test/support/terminal.ts'
import { type Finished, World } from '../../../test/support/world.ts'
import { readProcessStat } from '../../base/process/platform.ts'

const id = '3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b7c'
const token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'
const project = '.claude/projects/-work-app'

const lines = (...all: object[]): string => all.map((each) => `${JSON.stringify(each)}\n`).join('')

const transcript = lines(
  {
    type: 'user',
    cwd: '/work/app',
    timestamp: '2026-11-17T10:00:00Z',
    message: { role: 'user', content: `tidy "up"\nwith ${token}` },
  },
  {
    type: 'assistant',
    timestamp: '2026-11-17T10:00:01Z',
    message: {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Sure: \u001b[2J\u009b2J \u202e<b>caf\u00e9</b>' },
        { type: 'tool_use', name: 'Bash', input: { command: 'echo "hi"' } },
      ],
    },
  },
  { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', content: 'hi'.repeat(300) }] } },
)

/** A user of Claude Code with one conversation that the vault has. */
class User extends World {
  readonly home = join(this.tmp, 'user')
  readonly transcript = join(this.home, project, `${id}.jsonl`)
  readonly subagent = join(this.home, project, id, 'subagents/agent-1.jsonl')
  readonly vault = join(this.tmp, 'home/vault')

  static async open(): Promise<User> {
    const user = new User()
    Object.assign(user.env, {
      HOME: user.home,
      CLAUDE_CONFIG_DIR: '',
      CODEX_HOME: '',
      MY_TOKEN: 'correct horse battery',
    })
    user.write(user.transcript, transcript)
    user.write(user.subagent, '{"sub":1}\n')
    await user.run('sync')
    return user
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }

  /** Runs a command of the vault, and returns what it answers. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each command has data of its own
  async run(...args: string[]): Promise<any> {
    const { data } = (await this.stint(['vault', ...args, '--json'])).envelope()
    return data
  }

  async fail(...args: string[]): Promise<{ code: string; message: string; suggestion: string }> {
    const { error } = (await this.stint(['vault', ...args, '--json'])).envelope()
    return error as unknown as { code: string; message: string; suggestion: string }
  }

  text(...args: string[]): Promise<Finished> {
    return this.stint(['vault', ...args], { env: { STINT_OUTPUT: '' } })
  }

  loseAll(): void {
    rmSync(join(this.home, project), { recursive: true })
  }
}

test('a lost conversation is listed, restored byte by byte with all its files, and not lost any more', async () => {
  await using user = await User.open()
  user.loseAll()
  const { conversations } = await user.run('list', '--lost')
  expect(conversations).toMatchObject([
    { agent: 'claude', id, title: 'tidy "up" with <masked:github-token>', workspace: '/work/app' },
  ])
  const before = Date.now() - 1000
  expect(await user.run('restore', '3f6c')).toMatchObject({
    id,
    paths: [user.transcript, user.subagent],
    resume: `claude --resume ${id}`,
  })
  expect(readFileSync(user.transcript, 'utf8')).toBe(transcript)
  expect(readFileSync(user.subagent, 'utf8')).toBe('{"sub":1}\n')
  // Claude Code deletes by the time of the file.
  expect(statSync(user.transcript).mtimeMs).toBeGreaterThan(before)
  expect(statSync(user.transcript).mode & 0o777).toBe(0o600)
  expect(readdirSync(dirname(user.transcript)).filter((name) => name.endsWith('.tmp'))).toEqual([])
  expect((await user.text('list', '--lost')).stdout).toMatch(/^no such conversation/)
})

test('a conversation that the agent has is replaced only on request, and the vault keeps what was there', async () => {
  await using user = await User.open()
  user.write(user.transcript, 'damaged\n')
  expect(await user.fail('restore', id)).toMatchObject({
    code: 'NAME_TAKEN',
    suggestion: expect.stringContaining('--replace') as string,
  })
  expect(readFileSync(user.transcript, 'utf8')).toBe('damaged\n')
  await user.run('restore', id, '--replace')
  expect(readFileSync(user.transcript, 'utf8')).toBe(transcript)
  await user.run('restore', id, '--generation', '2', '--to', join(user.tmp, 'out'))
  expect(readFileSync(join(user.tmp, 'out', `${id}.jsonl`), 'utf8')).toBe('damaged\n')
  expect(await user.fail('restore', id, '--to', join(user.tmp, 'out'))).toMatchObject({ code: 'NAME_TAKEN' })
})

test('a conversation of an agent that is excluded now can be replaced: the vault keeps both forms', async () => {
  await using user = await User.open()
  await user.run('sync', '--exclude', 'claude')
  user.write(user.transcript, 'damaged\n')
  await user.run('restore', id, '--replace')
  expect(readFileSync(user.transcript, 'utf8')).toBe(transcript)
  expect((await user.run('list')).conversations).toMatchObject([{ id, generations: 2 }])
})

test('a copy in another directory of the agent is replaced there: two copies would hide both', async () => {
  await using user = await User.open()
  user.loseAll()
  const moved = join(user.home, '.claude/projects/-elsewhere', `${id}.jsonl`)
  user.write(moved, `${transcript}torn`)
  expect((await user.fail('restore', id)).message).toContain('-elsewhere')
  await user.run('restore', id, '--replace')
  expect(readFileSync(moved, 'utf8')).toBe(transcript)
  expect(existsSync(user.transcript)).toBe(false)
})

/** A process that keeps running until the end of the test. */
async function withProcess(args: string[], work: (pid: number) => Promise<void>, env?: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, args, { stdio: 'ignore', env: { ...process.env, ...env } })
  try {
    await work(child.pid ?? 0)
  } finally {
    child.kill()
  }
}

test('a conversation that a process has open is not restored', async () => {
  await using user = await User.open()
  user.loseAll()
  await withProcess(['-e', 'setInterval(() => {}, 1000)', '--', '--resume', id], async (pid) => {
    expect(await user.fail('restore', id)).toMatchObject({
      code: 'SESSION_LOCKED',
      message: expect.stringContaining(`process ${pid}`) as string,
    })
    expect(existsSync(user.transcript)).toBe(false)
  })
})

test('a note of Claude Code counts for the process that wrote it, not for a later one with its pid', async () => {
  await using user = await User.open()
  user.loseAll()
  const program = join(user.tmp, 'claude.js')
  writeFileSync(program, 'setInterval(() => {}, 1000)')
  const work = async (pid: number): Promise<void> => {
    const note = (procStart: string): void =>
      user.write(
        join(user.home, `.claude/sessions/${pid}.json`),
        JSON.stringify({ sessionId: id, procStart }),
      )
    note(String(readProcessStat(pid)?.started))
    expect(await user.fail('restore', id)).toMatchObject({ code: 'SESSION_LOCKED' })
    note('1')
    expect(await user.run('restore', id)).toMatchObject({ id })
  }
  await withProcess([program], work, { HOME: user.home, CLAUDE_CONFIG_DIR: undefined })
})

test('damage in the vault is not restored', async () => {
  await using user = await User.open()
  user.loseAll()
  const stored = join(user.vault, 'claude', id, '1', `${id}.jsonl`)
  writeFileSync(stored, readFileSync(stored, 'utf8').replace('Sure', 'Sore'))
  expect(await user.fail('restore', id)).toMatchObject({ code: 'VAULT_DAMAGED' })
  expect(existsSync(user.transcript)).toBe(false)
})

test('a file that is gone from the vault is named, and the other conversations are searched', async () => {
  await using user = await User.open()
  const otherId = id.replace('3f6c', '0f6c')
  user.write(user.transcript.replace(id, otherId), lines({ text: `a needle and ${token}` }))
  utimesSync(user.transcript.replace(id, otherId), 1000, 1000)
  await user.run('sync')
  const stored = join(user.vault, 'claude', id, '1', `${id}.jsonl`)
  for (const spoil of [() => rmSync(stored), () => mkdirSync(stored)]) {
    rmSync(join(user.home, project), { recursive: true, force: true })
    spoil()
    expect(await user.fail('restore', id)).toMatchObject({ code: 'VAULT_DAMAGED' })
    expect((await user.text('show', id)).stderr).toContain('VAULT_DAMAGED')
    const { stdout, stderr } = await user.text('scan')
    expect(stdout + stderr).toMatch(/cannot be read/)
    expect(stdout).toContain('1 secret in 1 of 2 conversations')
    const search = await user.stint(['sessions', 'search', 'needle'])
    expect(search.stdout).toContain(otherId)
    expect(search.stdout + search.stderr).toContain('VAULT_DAMAGED')
  }
})

test('a conversation comes back where the agent has a link, as for a directory on another disk', async () => {
  await using user = await User.open()
  user.loseAll()
  mkdirSync(join(user.tmp, 'disk'))
  symlinkSync(join(user.tmp, 'disk'), join(user.home, project))
  await user.run('restore', id)
  expect(readFileSync(join(user.tmp, 'disk', `${id}.jsonl`), 'utf8')).toBe(transcript)
  user.loseAll()
  user.write(join(user.home, project), 'no directory')
  expect((await user.fail('restore', id)).message).toContain(`${project} is not a directory`)
})

test('a conversation can be read: secrets are masked, and nothing in it reaches the terminal as a control character', async () => {
  await using user = await User.open()
  const { stdout } = await user.text('show', id, '--utc')
  expect(stdout).toContain('2026-11-17 10:00:00Z  user\n  tidy "up"\n  with <masked:github-token>')
  expect(stdout).toContain(String.raw`Sure: \u001b[2J\u009b2J \u202e<b>café</b>`)
  expect(stdout).toContain('assistant calls Bash\n  {"command":"echo \\"hi\\""}')
  expect(stdout).toContain('… [+200]')
  expect(stdout).not.toContain(token)
  const entries = (await user.text('show', 'claude', '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  expect(entries).toHaveLength(4)
  expect((await user.stint(['vault', 'show', '.', '--raw'], { cwd: user.tmp })).code).toBe(5)
  expect((await user.text('show', id, '--raw')).stdout).toBe(transcript)
  expect((await user.text('show', id, '--raw', '--file', `${id}/subagents/agent-1.jsonl`)).stdout).toBe(
    '{"sub":1}\n',
  )
  await using terminal = await Terminal.open(user)
  const { lines } = await terminal.output(`stint vault show ${id} --raw; stint vault list`)
  expect(lines.join('')).toContain(String.raw`\u009b2J`)
  expect(lines.at(-1)).toMatch(/^Claude Code +3f6c/)
})

test('a scan names the line and the kind of a secret, and never the value', async () => {
  await using user = await User.open()
  appendFileSync(
    user.transcript,
    lines({ text: 'correct horse battery' }, { text: `${'x'.repeat(9 << 20)} ${token}` }),
  )
  await user.run('sync')
  const { stdout } = await user.stint(['vault', 'scan', '--json'])
  expect(stdout).not.toMatch(/ghp_abc|horse/)
  expect(JSON.parse(stdout)).toMatchObject({
    data: {
      conversations: 1,
      secrets: [
        { id, file: `${id}.jsonl`, line: 1, kind: 'github-token' },
        { id, file: `${id}.jsonl`, line: 4, kind: 'env:MY_TOKEN' },
        { id, file: `${id}.jsonl`, line: 5, kind: 'github-token' },
      ],
    },
  })
})

test('of a line that is too long to be shown, one entry says so', async () => {
  await using user = await User.open()
  appendFileSync(user.transcript, lines({ text: 'x'.repeat(30 << 20) }))
  await user.run('sync')
  const { stdout } = await user.text('show', id)
  expect(stdout.match(/too long to be shown/g)).toHaveLength(1)
})

test('what is removed stays removed, with a line in the log, until it is included again', async () => {
  await using user = await User.open()
  expect((await user.fail('rm', '3f6c')).code).toBe('ARG_ERROR')
  expect(await user.run('rm', '3f6c', '--yes')).toMatchObject({ removed: [{ agent: 'claude', id }] })
  expect(JSON.parse(readFileSync(join(user.vault, 'log.jsonl'), 'utf8'))).toMatchObject({
    act: 'rm',
    agent: 'claude',
    id,
  })
  expect(readdirSync(join(user.vault, 'claude', id))).toEqual([expect.stringMatching(/^lock/)])
  expect(await user.run('sync')).toMatchObject({ copied: 0, excluded: 1 })
  expect(existsSync(user.transcript)).toBe(true)
  expect(await user.run('sync', '--include', `claude/${id}`)).toMatchObject({ copied: 1, excluded: 0 })
  expect(await user.run('rm', '--older-than', '1h', '--yes')).toMatchObject({ removed: [] })
  expect(await user.run('rm', '--older-than', '0s', '--yes')).toMatchObject({ removed: [{ id }] })
  expect(await user.run('sync')).toMatchObject({ copied: 0, excluded: 1 })
  expect((await user.text('status')).stdout).toContain('excluded: 1 removed conversation\n')
})

test('Ctrl-C at the question of rm removes nothing', async () => {
  await using user = await User.open()
  await using terminal = await Terminal.open(user)
  terminal.enter('clear; stint vault rm 3f6c')
  await terminal.shows(/\[y\/N\]/)
  terminal.press('C-c')
  await terminal.shows(/^\[130\] ready>$/m)
  expect((await user.run('list')).conversations).toMatchObject([{ id }])
})

test('commands that sync at once copy each byte once', async () => {
  await using user = await User.open()
  const ids = Array.from({ length: 20 }, (_, n) => `${id.slice(0, -2)}${n + 10}`)
  for (const each of ids) user.write(join(user.home, project, `${each}.jsonl`), transcript)
  const reports = await Promise.all([1, 2, 3].map(() => user.run('sync')))
  expect(reports.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(20 * Buffer.byteLength(transcript))
  for (const each of ids)
    expect(readFileSync(join(user.vault, 'claude', each, '1', `${each}.jsonl`), 'utf8')).toBe(transcript)
})

test('status is one screen: what is kept, excluded, not covered, and when it was last copied', async () => {
  await using user = await User.open()
  user.write(join(user.home, '.cursor/chats/a/b/store.db'), '')
  await user.run('sync', '--exclude', 'gemini', '--exclude', join(user.tmp, 'private'))
  expect((await user.fail('sync', '--exclude', 'gemni')).message).toContain(
    'neither an agent nor a directory',
  )
  expect(await user.run('status')).toMatchObject({
    agents: [{ agent: 'claude', kept: 1, new: 0 }],
    excluded: ['gemini', join(user.tmp, 'private')],
    not_covered: ['Cursor'],
  })
  const { stdout } = await user.text('status')
  expect(stdout).toMatch(/Claude Code +1 +[\d.]+ KiB/)
  expect(stdout).toContain('not covered: Cursor')
})

test('OpenCode is kept by its own export, once for each change, and given back as a file', async () => {
  await using user = await User.open()
  const bin = join(user.tmp, 'bin')
  const state = (text: string, updated: number): void => {
    const part = (text: string) => ({ info: { role: 'user' }, parts: [{ type: 'text', text }] })
    // The title is found although the beginning of the export is no JSON.
    const document = {
      info: { id: 'ses_1', directory: '/work/app' },
      messages: [part(text), part('x'.repeat(100_000))],
    }
    user.write(join(user.tmp, 'list.json'), JSON.stringify([{ id: 'ses_1', updated }]))
    user.write(join(user.tmp, 'export.json'), JSON.stringify(document))
  }
  user.write(
    join(bin, 'opencode'),
    `#!/bin/sh\ncase $1 in db) cat ${user.tmp}/list.json;; export) echo >> ${user.tmp}/exports; cat ${user.tmp}/export.json;; esac\n`,
  )
  chmodSync(join(bin, 'opencode'), 0o755)
  user.env.PATH = `${bin}:${user.env.PATH}`
  state('first', 1_700_000_000_000)
  await user.run('sync', '--exclude', '/work')
  expect((await user.run('list', '--agent', 'opencode')).conversations).toEqual([])
  rmSync(join(user.tmp, 'exports'))
  await user.run('sync', '--include', '/work')
  for (let round = 0; round < 2; round++) await user.run('sync')
  expect(readFileSync(join(user.tmp, 'exports'), 'utf8')).toBe('\n')
  state('second', 1_700_000_001_000)
  await user.run('sync')
  expect(await user.run('list', '--agent', 'opencode')).toMatchObject({
    conversations: [{ title: 'second', workspace: '/work/app', generations: 2 }],
  })
  expect((await user.fail('restore', 'ses_1')).suggestion).toContain('opencode import')
  expect((await user.text('show', 'ses_1')).stdout).toContain('second')
  const out = join(user.tmp, 'out')
  expect(await user.run('restore', 'ses_1', '--to', out, '--generation', '1')).toMatchObject({
    resume: `opencode import ${join(out, 'export.json')}`,
  })
  expect(readFileSync(join(user.tmp, 'out/export.json'), 'utf8')).toContain('first')
  user.write(join(user.tmp, 'list.json'), '[]')
  await user.run('sync')
  expect((await user.run('list', '--lost')).conversations).toMatchObject([{ id: 'ses_1' }])
  for (const generation of ['1', '2'])
    rmSync(join(user.env.STINT_HOME ?? '', 'vault/opencode/ses_1', generation), { recursive: true })
  expect((await user.text('show', 'ses_1')).stderr).toContain('VAULT_DAMAGED')
  user.write(join(bin, 'opencode'), '#!/bin/sh\nexit 3\n')
  expect(await user.run('sync')).toMatchObject({ unread: [{ path: 'opencode db' }] })
})

test('on a full disk nothing acknowledged is lost, and copying goes on when there is room', async () => {
  await using user = await User.open()
  const disk = join(user.tmp, 'disk')
  user.write(user.transcript, `${'x'.repeat(3 << 20)}\n`)
  const sync = `STINT_HOME="$0/home" stint vault sync --json`
  const script = [
    `mkdir "$0" && mount -t tmpfs -o size=2m,mode=0700 tmpfs "$0"`,
    `mv "$1" "$1.large" && echo small > "$1" && ${sync} && mv "$1.large" "$1"; ${sync}`,
    `head -c 1990000 /dev/zero > "$0/filling"; ${sync}`,
    `rm "$0/filling" && mount -o remount,size=20m "$0" && ${sync}`,
    `STINT_HOME="$0/home" stint vault restore ${id} --generation 1 --to "$0/one" --json`,
    `STINT_HOME="$0/home" stint vault restore ${id} --to "$0/two" --json`,
    `cat "$0/one/${id}.jsonl"; cmp "$0/two/${id}.jsonl" "$1" && echo equal`,
  ].join('\n')
  const { stdout } = await user.unshare(['--mount'], 'sh', [
    '-c',
    `stint() { "${process.execPath}" dist/bin/stint.cjs "$@"; }\n${script}`,
    disk,
    user.transcript,
  ])
  const [first, full, low, again, , , small, equal] = stdout.trim().split('\n')
  expect(JSON.parse(first ?? '')).toMatchObject({ ok: true })
  expect(JSON.parse(full ?? '')).toMatchObject({ error: { code: 'DISK_FULL' } })
  expect(JSON.parse(low ?? '')).toMatchObject({
    error: { code: 'DISK_FULL', message: expect.stringContaining('5 %') as string },
  })
  expect(JSON.parse(again ?? '')).toMatchObject({ ok: true })
  expect([small, equal]).toEqual(['small', 'equal'])
})

test('names: an id, the beginning of it, an agent, a directory; anything else says what to do', async () => {
  await using user = await User.open()
  for (const name of ['3f6c', 'claude', 'Claude Code']) expect((await user.text('show', name)).code).toBe(0)
  expect((await user.text('show', 'nothing')).stderr).toContain('stint vault list')
  expect(await user.fail('restore')).toMatchObject({ code: 'ARG_ERROR' })
  expect(await user.fail('rm')).toMatchObject({ code: 'ARG_ERROR' })
  for (const generation of ['0', '2'])
    expect(await user.fail('restore', id, '--generation', generation)).toMatchObject({ code: 'NOT_FOUND' })
})
