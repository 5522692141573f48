import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Answer, dataOf, errorOf, jsonLines, SessionWorld } from '../../../test/support/session-world.ts'
import { Terminal } from '../../../test/support/terminal.ts'

/** Every file of a session with its content. */
function contents(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && !entry.name.startsWith('damaged'))
      .map((entry) => [
        join(entry.parentPath, entry.name),
        readFileSync(join(entry.parentPath, entry.name), 'latin1'),
      ]),
  )
}

test('damage in the middle is exit 4: everything before it is printed, nothing is deleted, and repair saves the rest', async () => {
  await using world = new SessionWorld()
  await world.make('mine', 6)
  world.damage('mine', 3)
  const before = contents(world.path('mine'))
  const events = await world.stint(['sessions', 'tail', 'mine', '-n', 'all', '--json'])
  expect(events.code).toBe(4)
  expect(jsonLines(events.stdout).map(({ seq }) => seq)).toEqual([1, 2])
  expect(events.stderr).toMatch(
    /record 3 is missing or changed, in journal\.log at byte \d+ \(JOURNAL_CORRUPT\)/,
  )

  const verified = await world.run('verify', 'mine')
  expect([verified.code, errorOf(verified)?.code]).toEqual([4, 'JOURNAL_CORRUPT'])
  expect(dataOf(verified)).toMatchObject({ checked: 1, damaged: 1, sessions: [{ state: 'damaged' }] })
  expect(dataOf(await world.run('list')).sessions[0].state).toBe('damaged')
  const forked = await world.run('fork', 'mine')
  expect(dataOf(forked)).toMatchObject({ records: 2 })
  expect(forked.envelope().warnings).toEqual(['mine is damaged after record 2: the copy ends there'])
  expect(contents(world.path('mine'))).toEqual(before)

  const planned = dataOf(await world.run('repair', 'mine', '--dry-run'))
  expect(planned).toMatchObject({
    session_id: null,
    from: 'mine',
    dry_run: true,
    journal: { records: 5, missing: [{ from: 3, to: 3 }] },
  })
  const copied = dataOf(await world.run('repair', 'mine'))
  expect(copied).toMatchObject({ dry_run: false, journal: { records: 5 } })
  expect(contents(world.path('mine'))).toEqual(before)

  const copy = copied.session_id
  const after = await world.stint(['sessions', 'tail', copy, '-n', 'all', '--json'])
  expect([after.code, jsonLines(after.stdout).map(({ data }) => data.n)]).toEqual([0, [1, 2, 4, 5, 6]])
  expect(dataOf(await world.run('verify', copy))).toMatchObject({ damaged: 0 })
  const shown = dataOf(await world.run('show', copy))
  expect(shown).toMatchObject({ state: 'closed', title: 'about mine', tool: 'test' })
  expect(shown.revisions.at(-1)).toMatchObject({ kind: 'repair', seq: 5, from: { session_id: 'mine' } })
  const whole = await world.run('repair', copy)
  expect([whole.code, errorOf(whole)?.code]).toEqual([2, 'ARG_ERROR'])
  expect(dataOf(await world.run('append', copy, '--type', 'more'))).toMatchObject({ seq: 6 })
})

test('a torn tail is not damage: the next writer cuts it off, and show lists where it is kept', async () => {
  await using world = new SessionWorld()
  const holder = await world.hold('mine')
  await holder.write(3)
  holder.child.kill('SIGKILL')
  await holder.finished
  const journal = world.path('mine', 'journal.log')
  const text = readFileSync(journal, 'utf8').trimEnd()
  const torn = '{"seq":4,"at":17,"group":4,"epoch":1,"type":"mess'
  writeFileSync(journal, `${text}\n${torn}`)
  const events = await world.stint(['sessions', 'tail', 'mine', '-n', 'all', '--json'])
  expect([events.code, jsonLines(events.stdout)]).toMatchObject([0, [{ seq: 1 }, { seq: 2 }, { seq: 3 }]])
  const verified = await world.run('verify', 'mine')
  expect([verified.code, dataOf(verified).sessions[0].state]).toEqual([0, 'torn'])

  const session = await world.store.resume('mine')
  const [cut] = session.report.cut
  expect(cut).toMatchObject({ log: 'journal', segment: 'journal.log', bytes: torn.length })
  expect(readFileSync(cut?.kept ?? '', 'utf8')).toBe(torn)
  expect((await session.append({ type: 'message' })).seq).toBe(4)
  await session.close()
  expect(dataOf(await world.run('show', 'mine')).quarantined).toEqual([cut?.kept])
  expect(dataOf(await world.run('verify', 'mine')).sessions[0].state).toBe('whole')
})

test('verify --all names each damaged session, whatever is damaged', async () => {
  await using world = new SessionWorld()
  for (const id of ['good', 'journal', 'audit', 'blob', 'manifest']) {
    await using session = await world.store.create({ id })
    await session.append({ type: 'big', data: 'x'.repeat(300_000) })
    await session.append({ type: 'more' })
    await session.audit({ action: 'note', subject: 'this' })
    await session.append({ type: 'more' })
  }
  world.damage('journal', 1)
  const log = world.path('audit', 'audit/audit.log')
  writeFileSync(log, readFileSync(log, 'utf8').replace('"this"', '"that"'))
  const [blob = ''] = readdirSync(world.path('blob', 'blobs'))
  appendFileSync(world.path('blob', 'blobs', blob), 'x')
  writeFileSync(world.path('manifest', 'manifest.json'), '{}')
  const result = await world.run('verify', '--all')
  expect(result.code).toBe(4)
  const { sessions, checked, damaged } = dataOf(result)
  expect([checked, damaged]).toEqual([5, 4])
  const states = Object.fromEntries(sessions.map((each: Answer) => [each.session_id, each.state]))
  expect(states).toEqual({
    audit: 'damaged',
    blob: 'damaged',
    good: 'whole',
    journal: 'damaged',
    manifest: 'damaged',
  })
  const copies = await Promise.all(
    ['audit', 'blob', 'journal', 'manifest'].map(async (id) => dataOf(await world.run('repair', id))),
  )
  expect(copies[1].blobs).toEqual([blob])
  for (const { session_id } of copies)
    expect(dataOf(await world.run('verify', session_id))).toMatchObject({ damaged: 0 })
  expect(errorOf(await world.run('verify', '--all', 'good'))?.code).toBe('ARG_ERROR')
})

test('verify --all names a session of another store, which is not damaged, and verifies the others', async () => {
  await using world = new SessionWorld()
  for (const id of ['a-foreign', 'mine']) await world.make(id, 1)
  const manifest = world.path('a-foreign', 'manifest.json')
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('"filesystem"', '"elsewhere"'))
  const all = await world.run('verify', '--all')
  expect(dataOf(all)).toMatchObject({ checked: 1, damaged: 0, sessions: [{ session_id: 'mine' }] })
  const warning = expect.stringMatching(/a-foreign .*elsewhere.*RESUME_MISMATCH/) as string
  expect([all.code, all.envelope().warnings]).toEqual([0, [warning]])
  const one = await world.run('verify', 'a-foreign')
  expect([one.code, errorOf(one)?.code]).toEqual([6, 'RESUME_MISMATCH'])
  expect(dataOf(await world.run('show', 'mine'))).toMatchObject({ state: 'closed' })
})

test('on a terminal repair names the new session and what is missing, and a repair of a held one is refused', async () => {
  await using world = new SessionWorld()
  await world.make('mine', 6)
  world.damage('mine', 3)
  await using terminal = await Terminal.open(world)
  terminal.enter('clear; stint sessions repair mine --dry-run')
  await terminal.shows(
    /^5 records and 0 audit lines of mine are intact: a repair would copy them\n {2}journal: record 3 is missing\n/m,
  )
  terminal.enter('clear; stint sessions repair mine')
  await terminal.shows(
    /^ses_\w+ has 5 records and 0 audit lines of mine\n[^]*moves it to the\s+trash\n\[0\]/m,
  )
  const holding = await world.hold('held')
  expect(errorOf(await world.run('repair', 'held'))?.code).toBe('SESSION_LOCKED')
  await holding.close()
})
