import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { newSessionId } from '../../src/base/text/id.ts'
import type { SessionWorld } from './session-world.ts'
import { projectRoot, type Running, until } from './world.ts'

/** Makes closed sessions: one with the store, and copies of it, as a durable session costs several syncs. */
export async function makeManySessions(world: SessionWorld, count: number): Promise<void> {
  const id = await world.make('ses_template', 20)
  const files = readdirSync(world.path(id), { recursive: true, withFileTypes: true })
    .map((entry) => ({ entry, name: relative(world.path(id), join(entry.parentPath, entry.name)) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  for (let made = 1; made < count; made++) {
    const copy = newSessionId()
    mkdirSync(world.path(copy), 0o700)
    for (const { entry, name } of files) {
      const [from, to] = [world.path(id, name), world.path(copy, name)]
      if (entry.isSymbolicLink()) symlinkSync(readlinkSync(from), to)
      else if (entry.isDirectory()) mkdirSync(to)
      else writeFileSync(to, readFileSync(from, 'utf8').replaceAll(id, name === 'manifest.json' ? copy : id))
    }
    writeFileSync(world.path('.recent', `${copy}@${Date.now()}`), '')
  }
}

const holder = `
  import { spawn } from 'node:child_process'
  import { acquireLease } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
  for (const [index, workspace] of process.argv.slice(1).entries()) {
    // It ends with this process, whose end closes its input.
    const { pid } = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] })
    await acquireLease({ workspace, sessionId: 'agent-' + index, purpose: 'part ' + index, pid })
  }
  console.log('held')
  setInterval(() => {}, 1e9)`

/** Starts processes that hold this many workspaces: each another one, for another session. */
export async function holdWorkspaces(world: SessionWorld, count: number): Promise<Running> {
  const workspaces = Array.from({ length: count }, (_, index) => join(world.tmp, 'work', String(index)))
  for (const workspace of workspaces) mkdirSync(join(workspace, '.git'), { recursive: true })
  const running = world.start(process.execPath, ['--input-type=module', '-e', holder, ...workspaces])
  await until('all workspaces are held', () => {
    if (running.child.exitCode !== null) throw new Error(running.output().stderr)
    return running.output().stdout.includes('held')
  })
  return running
}
