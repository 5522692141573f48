import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ScriptWorld, shells } from '../../test/support/hook-script.ts'
import { makeRepository } from '../../test/support/lock-world.ts'

/**
 * A session holds its repository. Another session holds a repository below it, one beside it, and a file
 * outside of all: whatever an event says, the script must not allow a call that Node would refuse.
 */
class FuzzedWorld extends ScriptWorld {
  readonly nested = join(this.workspace, 'nested')
  readonly beside = join(this.tmp, 'beside')
  readonly note = join(this.tmp, 'note.txt')

  async prepare(): Promise<void> {
    for (const path of [this.nested, this.beside]) {
      makeRepository(path)
      await this.lock(['acquire', '--session', 'other'], path)
    }
    mkdirSync(join(this.workspace, 'src'))
    symlinkSync(this.nested, join(this.workspace, 'link'))
    symlinkSync(join(this.nested, 'a.txt'), join(this.workspace, 'src/link.txt'))
    writeFileSync(this.note, '')
    this.edit('note', this.note, { session: 'other-session' })
    this.pre('one')
  }

  /** The paths from which events are made: good ones, those of others, and odd spellings of both. */
  get paths(): string[] {
    const { workspace, nested, beside, note, tmp } = this
    const plain = [workspace, nested, beside, note, tmp, `${workspace}/src`, `${workspace}/link`, '/']
    const files = [
      'a.txt',
      'src/a.txt',
      'nested/a.txt',
      'src/link.txt',
      'link/a.txt',
      'new/a.txt',
      '../note.txt',
    ]
    const odd = [
      '',
      '.',
      '..',
      'src/../nested/a.txt',
      './nested/x',
      'a"b',
      'a\\b',
      ' a',
      'a ',
      'a\tb',
      'ä.txt',
      '~/x',
      '$HOME',
    ]
    return [...plain, ...files, ...files.map((name) => join(workspace, name)), ...odd]
  }
}

const commands = (paths: readonly string[]): string[] => [
  'make',
  ...paths.flatMap((path) => [`cd ${path} && make`, `cd '${path}'; make`, `git -C ${path} commit`]),
  ...paths.map((path) => `apply_patch <<'E'\n*** Begin Patch\n*** Add File: ${path}\n+a\n*** End Patch\nE`),
  'echo "cwd": "/" > x',
  '\\\ncd nested && make',
  ' cd nested && make',
]

function eventsOf(world: FuzzedWorld): fc.Arbitrary<string> {
  const { workspace } = world
  const usual = [workspace, join(workspace, 'src'), join(workspace, 'a.txt'), 'a.txt', 'src/a.txt']
  const path = fc.oneof(fc.constantFrom(...usual), fc.constantFrom(...world.paths))
  const command = fc.oneof(fc.constant('make'), fc.constantFrom(...commands(world.paths)))
  const input = fc.oneof(
    fc.record({ command, description: fc.constantFrom('d', 'cd nested') }, { requiredKeys: ['command'] }),
    fc.record({ description: fc.constant('d'), command }),
    fc.record({ file_path: path, old_string: path, new_string: command }, { requiredKeys: ['file_path'] }),
    fc.record({ content: command, file_path: path }),
    fc.record({ notebook_path: path, new_source: command }),
    fc.record({ file_path: path, edits: fc.array(fc.record({ file_path: path }), { maxLength: 2 }) }),
  )
  const odd = fc.record({ cwd: path, tool_input: input, level: path }, { requiredKeys: [] })
  const event = fc.record({
    session_id: fc.oneof(
      { weight: 6, arbitrary: fc.constant('session-a') },
      { weight: 1, arbitrary: fc.constantFrom('../session-a', 'other', '') },
    ),
    before: fc.option(odd, { freq: 1 }),
    cwd: fc.oneof(fc.constant(workspace), path),
    hook_event_name: fc.constantFrom('PreToolUse', 'PreToolUse', 'PreToolUse', 'PostToolUse', 'Stop'),
    tool_name: fc.constantFrom(
      'Bash',
      'Edit',
      'Write',
      'MultiEdit',
      'NotebookEdit',
      'Monitor',
      'apply_patch',
    ),
    tool_input: input,
    after: fc.option(odd, { freq: 1 }),
  })
  return event.map(({ before, after, ...known }) => {
    const { session_id, cwd, hook_event_name, tool_name, tool_input } = known
    const text = JSON.stringify({
      session_id,
      ...(before && { effort: before }),
      cwd,
      hook_event_name,
      tool_name,
      tool_input,
      ...(after && { tool_response: after }),
      tool_use_id: 'x',
    })
    // A property that comes twice: JSON.parse takes the last one.
    return after?.cwd === undefined ? text : `${text.slice(0, -1)},"cwd":${JSON.stringify(after.cwd)}}`
  })
}

// Each event goes to one of the shells. `usedNode` tells whether the script has asked Node.
test('the script allows no made-up event that Node refuses, in any shell', { timeout: 120_000 }, async () => {
  await using world = new FuzzedWorld()
  await world.prepare()
  const pass = readFileSync(world.pass(), 'utf8')
  world.replaceNode()
  const words = Object.values(shells)
  const allowed = fc.sample(eventsOf(world), 400).filter((event, index) => {
    world.shell = words[index % words.length] ?? ['sh']
    const { code, usedNode } = world.send(event)
    return code === 0 && !usedNode
  })
  // The events are random, and the script allows few of them.
  expect(allowed.length).toBeGreaterThan(0)
  expect(readFileSync(world.pass(), 'utf8')).toBe(pass)
  // Without its pass, the script asks Node about every event.
  world.useNode()
  for (const event of new Set(allowed)) {
    rmSync(world.pass(), { force: true })
    expect([event, world.send(event).code]).toEqual([event, 0])
  }
})
