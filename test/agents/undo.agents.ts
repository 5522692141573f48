import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import type { Step } from './model.ts'
import { Rig } from './rig.ts'

/** Claude Code edits a file only after it has read it. */
const claudeEdit = (path: string, from: string, to: string): Step[] => [
  { tool: 'Read', input: { file_path: path } },
  { tool: 'Edit', input: { file_path: path, old_string: from, new_string: to } },
]

/** Codex takes this command for its tool apply_patch. */
const codexEdit = (path: string, from: string, to: string): Step => {
  const patch = `*** Begin Patch\n*** Update File: ${path}\n@@\n-${from}\n+${to}\n*** End Patch`
  return codex.shell(`apply_patch <<'EOF'\n${patch}\nEOF\n`)
}

/** The bytes of each file in a directory, read by the test and not by stint or git. */
function filesIn(directory: string): Record<string, string> {
  const paths = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(paths.toSorted().map((path) => [path, readFileSync(path, 'hex')]))
}

test('undo takes back what Claude Code changed by Edit and by Bash, and keeps the line that Codex changed later in that file', async () => {
  await using rig = await Rig.open()
  const path = join(rig.repository, 'notes.txt')
  const fileWith = (changes: Record<number, string>): string =>
    Array.from({ length: 20 }, (_, index) => `${changes[index] ?? `line ${index}`}\n`).join('')
  writeFileSync(path, fileWith({}))
  rig.model.script(
    'alice',
    ...claudeEdit(path, 'line 2\n', 'claude by Edit\n'),
    claude.shell(`sed -i 's/^line 17$/claude by Bash/' notes.txt; echo claude > new.txt`),
    'Done.',
  )
  rig.model.script('bob', codexEdit(path, 'line 10', 'codex'), 'Done.')
  await rig.play(claude, 'alice').finished
  expect(readFileSync(path, 'utf8')).toBe(fileWith({ 2: 'claude by Edit', 17: 'claude by Bash' }))
  await rig.freed()
  await rig.play(codex, 'bob').finished
  await rig.freed()
  const both = fileWith({ 2: 'claude by Edit', 10: 'codex', 17: 'claude by Bash' })
  expect(readFileSync(path, 'utf8')).toBe(both)

  const before = filesIn(rig.repository)
  const undo = await rig.stint(['undo', 'claude', '--yes', '--json'], { cwd: rig.repository })
  expect(undo.code, undo.stdout).toBe(0)
  const { [join(rig.repository, 'new.txt')]: created, ...others } = before
  expect(created).toBe(Buffer.from('claude\n').toString('hex'))
  const kept = Buffer.from(fileWith({ 10: 'codex' })).toString('hex')
  expect(filesIn(rig.repository)).toEqual({ ...others, [path]: kept })

  const redo = await rig.stint(['redo', '--yes', '--json'], { cwd: rig.repository })
  expect(redo.code, redo.stdout).toBe(0)
  expect(filesIn(rig.repository)).toEqual(before)
})
