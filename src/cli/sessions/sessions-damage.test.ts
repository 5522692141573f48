import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
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
    repaired: false,
    needed: true,
    journal: { bad: 3, salvaged: 3, lost: [{ from: 3, to: 3 }] },
  })
  expect(errorOf(await world.run('repair', 'mine'))?.code).toBe('ARG_ERROR')
  expect(contents(world.path('mine'))).toEqual(before)
  const repaired = dataOf(await world.run('repair', 'mine', '--yes'))
  expect(repaired).toMatchObject({ repaired: true, journal: { salvaged: 3 } })
  expect(readFileSync(join(repaired.kept, 'journal.log'), 'latin1')).toBe(
    before[world.path('mine', 'journal.log')],
  )

  const after = await world.stint(['sessions', 'tail', 'mine', '-n', 'all', '--json'])
  expect([after.code, jsonLines(after.stdout).map(({ seq }) => seq)]).toEqual([0, [1, 2, 4, 5, 6]])
  expect(dataOf(await world.run('verify', 'mine'))).toMatchObject({ damaged: 0 })
  const shown = dataOf(await world.run('show', 'mine'))
  expect(shown.state).toBe('closed')
  expect(shown.revisions.at(-1)).toMatchObject({ kind: 'repair', seq: 6 })
  expect(dataOf(await world.run('repair', 'mine', '--yes'))).toMatchObject({ repaired: false, needed: false })
  expect(dataOf(await world.run('append', 'mine', '--type', 'more'))).toMatchObject({ taken_in: true })
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
  const repair = dataOf(await world.run('repair', 'blob', '--yes'))
  expect(repair.beyond).toEqual([expect.stringContaining(blob)])
  for (const id of ['audit', 'journal', 'manifest']) await world.run('repair', id, '--yes')
  expect(dataOf(await world.run('verify', '--all')).damaged).toBe(1)
  expect(errorOf(await world.run('verify', '--all', 'good'))?.code).toBe('ARG_ERROR')
})

test('on a terminal repair shows its plan before it asks, and changes nothing if the answer is no', async () => {
  await using world = new SessionWorld()
  await world.make('mine', 6)
  world.damage('mine', 3)
  const before = contents(world.path('mine'))
  await using terminal = await Terminal.open(world)
  for (const [answer, end] of [
    ['n', /Nothing was changed\.\n\[1\] ready>$/],
    ['y', /repaired; the old files are in [^]*\n\[0\] ready>$/],
  ] as const) {
    terminal.enter('clear; stint sessions repair mine')
    await terminal.shows(
      /journal: keep all before record 3, and 3 intact after that[^]*Repair it\? \[y\/N\]$/,
    )
    expect(contents(world.path('mine'))).toEqual(before)
    terminal.enter(answer)
    await terminal.shows(end)
  }
  expect(existsSync(world.path('mine', 'damaged.json'))).toBe(false)
})
