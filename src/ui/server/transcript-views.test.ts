import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { SessionWorld } from '../../../test/support/session-world.ts'
import { UiClient } from '../../../test/support/ui-client.ts'

const [kept, recorded] = ['3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b04', '4a7d9b63-1f2e-4a8b-8c2d-3e4f5a6b7c05']
const token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'

/** A user of Claude Code with two conversations in the vault, of which stint has recorded one. */
class User extends SessionWorld {
  readonly project = join(this.tmp, 'user/.claude/projects/-work-app')

  static async open(): Promise<User> {
    const user = new User()
    Object.assign(user.env, { HOME: join(user.tmp, 'user'), CLAUDE_CONFIG_DIR: '', CODEX_HOME: '' })
    user.write(kept, ['find the needle', 'it is here', `with ${token}`])
    user.write(recorded, ['a second one'])
    await user.make(recorded)
    await user.stint(['vault', 'sync', '--json'])
    return user
  }

  write(id: string, texts: readonly string[]): void {
    const path = join(this.project, `${id}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    const lines = texts.map((text, index) => ({
      type: index % 2 === 0 ? 'user' : 'assistant',
      cwd: '/work/app',
      timestamp: `2026-11-17T10:00:0${index}Z`,
      message: { role: index % 2 === 0 ? 'user' : 'assistant', content: text },
    }))
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    utimesSync(path, 1_790_000_000, 1_790_000_000)
  }
}

test('a conversation is a row of its own, or stands beside the recorded session of its id', async () => {
  await using user = await User.open()
  rmSync(join(user.project, `${kept}.jsonl`))
  const ui = await UiClient.start(user)
  const { sessions, total } = await ui.read('/api/sessions')
  expect(total).toBe(2)
  expect(sessions).toMatchObject([
    {
      session_id: recorded,
      recorded: { session_id: recorded },
      transcript: { agent_title: 'Claude Code', title: 'a second one', lost_after: null },
    },
    {
      session_id: kept,
      recorded: null,
      transcript: { title: 'find the needle', workspace: '/work/app', lost_after: expect.any(Number) },
    },
  ])
  expect(await ui.read('/api/sessions?from=1&limit=1')).toMatchObject({
    sessions: [{ session_id: kept }],
    total: 2,
  })
  expect(await ui.read('/api/sessions?text=NEEDLE')).toMatchObject({
    sessions: [{ session_id: kept }],
    total: 1,
  })
  expect((await ui.read('/api/sessions?state=closed')).total).toBe(1)
})

test('a conversation is read in pages, without secrets, and found by what was said in it', async () => {
  await using user = await User.open()
  const ui = await UiClient.start(user)
  const view = await ui.read(`/api/transcript?id=${kept}`)
  expect(view).toMatchObject({
    transcript: { id: kept, resume: `claude --resume ${kept}` },
    entries: [
      { line: 1, who: 'user', text: 'find the needle', at: Date.UTC(2026, 10, 17, 10) },
      { line: 2, who: 'assistant', text: 'it is here' },
      { line: 3, who: 'user', text: 'with <masked:github-token>' },
    ],
    has_earlier: false,
    has_later: false,
  })
  const lines = async (query: string) => {
    const page = await ui.read(`/api/transcript?id=${kept}&${query}`)
    return [page.entries.map(({ line }: { line: number }) => line), page.has_earlier, page.has_later]
  }
  expect(await lines('limit=2')).toEqual([[1, 2], false, true])
  expect(await lines('from=3&limit=2')).toEqual([[3], true, false])
  expect(await lines('before=3&limit=1')).toEqual([[2], true, true])
  expect(await lines('before=3')).toEqual([[1, 2], false, true])
  expect((await ui.read('/api/search?q=the+needle')).hits).toMatchObject([
    { session_id: kept, seq: 1, is_transcript: true, title: 'find the needle' },
  ])
  expect(JSON.stringify(await ui.read('/api/search?q=with'))).not.toContain('ghp_')
  expect((await ui.bySocket('/api/transcript?id=missing')).status).toBe(404)
})
