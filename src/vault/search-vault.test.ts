import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'

const claudeId = '3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b03'
const codexId = '4a7d9b63-1f2e-4a8b-8c2d-3e4f5a6b7c8d'
const token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'

let world: World
const place = (path: string, lines: string[], day: number): void => {
  const file = join(world.tmp, 'user', path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${lines.join('\n')}\n`)
  const seconds = Date.UTC(2026, 9, day) / 1000
  utimesSync(file, seconds, seconds)
}

beforeAll(async () => {
  world = new World()
  Object.assign(world.env, {
    HOME: join(world.tmp, 'user'),
    CLAUDE_CONFIG_DIR: '',
    CODEX_HOME: '',
    STINT_OUTPUT: '',
  })
  const said = (text: string): string =>
    String.raw`{"type":"user","cwd":"/work/app","timestamp":"2026-10-05T10:00:00Z","message":{"role":"user","content":${text}}}`
  place(
    `.claude/projects/p/${claudeId}.jsonl`,
    [
      said(String.raw`"say \"hello\"\nto the caf\u00e9, d\u00e9j\u00e0 vu"`),
      said(`"the key ${token} and more"`),
      `{"x":"${'y'.repeat(9 << 20)} needle in a long line"}`,
    ],
    5,
  )
  const args = JSON.stringify(JSON.stringify({ cmd: 'echo "twice\nquoted"' }))
  place(
    `.codex/sessions/2026/10/06/rollout-2026-10-06T10-00-00-${codexId}.jsonl`,
    [
      '{"type":"session_meta","payload":{"cwd":"/work/other"}}',
      `{"timestamp":"2026-10-06T10:00:00Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":${args}}}`,
    ],
    6,
  )
  await world.stint(['vault', 'sync'])
})
afterAll(async () => await world[Symbol.asyncDispose]())

const search = async (
  ...args: string[]
): Promise<{ session_id: string; seq: number; type: string; excerpt: string; at: number }[]> => {
  const { stdout, stderr } = await world.stint(['sessions', 'search', ...args, '--json'])
  expect(stderr).toBe('')
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as never)
}

test.each([
  ['say "hello"', claudeId, 1, 'claude.user'],
  ['"hello"\nto the café', claudeId, 1, 'claude.user'],
  ['déjà vu', claudeId, 1, 'claude.user'],
  ['needle in a long line', claudeId, 3, 'claude'],
  ['echo "twice\nquoted"', codexId, 2, 'codex.assistant'],
])('sessions search finds %j in a transcript, as a person types it', async (text, session_id, seq, type) => {
  expect(await search(text)).toMatchObject([{ session_id, seq, type }])
})

test('a hit has its time, and no token', async () => {
  const [found] = await search('the key')
  expect(found).toMatchObject({
    at: Date.UTC(2026, 9, 5, 10),
    excerpt: expect.stringContaining('the key <masked:github-token> and more') as string,
  })
  const [byToken] = await search(token)
  expect(byToken?.excerpt).not.toContain('ghp_')
  expect(await search('--regex', 'caf.,')).toHaveLength(1)
})

test('transcripts are searched by agent, workspace, time and number; events of a type are none of them', async () => {
  const ids = async (...args: string[]): Promise<string[]> =>
    (await search('--regex', 'e', ...args)).map(({ session_id }) => session_id)
  expect(new Set(await ids())).toEqual(new Set([codexId, claudeId]))
  expect(new Set(await ids('--tool', 'claude'))).toEqual(new Set([claudeId]))
  expect(await ids('--since', '1d')).toEqual([])
  expect(await ids('--type', 'message')).toEqual([])
  expect(await ids('-n', '1')).toEqual([codexId])
  const { stdout } = await world.stint(['sessions', 'search', 'hello', '--utc'])
  expect(stdout).toContain(`${claudeId}  1  2026-10-05 10:00:00Z  claude.user  ${claudeId}.jsonl: `)
})
