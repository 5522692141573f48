import { readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parse } from 'jsonc-parser'
import { expect, test } from 'vitest'
import {
  commandHosts,
  hookEvent,
  type Moment,
  outcome,
  registered,
  hookBin,
} from '../../../test/support/hook-host.ts'
import { copyPrograms } from '../../../test/support/copy-tree.ts'
import { type ChangeRow, HookUser } from '../../../test/support/hook-user.ts'
import { type Finished, projectRoot } from '../../../test/support/world.ts'
import type { SettingsAgentName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'

interface Handler {
  command?: string
  bash?: string
}

/** A user with a copy of stint that a test may break. */
class AgentWorld extends HookUser {
  readonly installation = join(this.tmp, 'stint')

  constructor() {
    super()
    this.restore()
  }

  /** Restores the copy. */
  restore(): void {
    rmSync(this.installation, { recursive: true, force: true })
    copyPrograms(dirname(hookBin), this.installation)
  }

  /** Installs the hooks of a host, which refuse at once, and returns the path of its settings. */
  async install(host: SettingsAgentName, ...flags: string[]): Promise<string> {
    const args = [join(this.installation, 'stint.cjs'), 'hook', 'install', host, '--wait', '0', ...flags]
    const finished = await this.start(process.execPath, args, { cwd: this.project }).finished
    if (finished.code !== 0) throw new Error(finished.stdout)
    return (finished.envelope().data as { hooks: [ChangeRow] }).hooks[0].path
  }

  /** The command in the host's settings for this event. */
  command(host: SettingsAgentName, moment: Moment, path = this.file(host)): string {
    const { hooks } = parse(this.read(path)) as { hooks: Record<string, (Handler & { hooks?: Handler[] })[]> }
    const entry = hooks[registered(host, moment).name]?.at(-1)
    const handler = entry?.hooks?.[0] ?? entry
    return handler?.bash ?? handler?.command ?? ''
  }

  /** Copilot running a hook of Claude Code: it sends that event's name, a time and no transcript. */
  callByCopilot(line: string): Promise<Finished> {
    const { transcript_path: _, ...event } = hookEvent('claude', 'pre', { cwd: this.project })
    return this.line(line, { ...event, timestamp: '2026-11-01T12:00:00.000Z' })
  }

  /** Runs the command as the host does. */
  call(host: SettingsAgentName, moment: Moment, line = this.command(host, moment)): Promise<Finished> {
    return this.line(line, hookEvent(host, moment, { cwd: this.project }))
  }

  async hold(): Promise<void> {
    await this.stint(['lock', 'acquire', '--session', 'other-session', '--purpose', 'a release'], {
      cwd: this.project,
    })
  }
}

const moments: Moment[] = ['pre', 'post', 'stop', 'start', 'end']

test.each(commandHosts)(
  '%s: the installed command allows a call of the holder, and refuses one of another session',
  async (host) => {
    await using world = new AgentWorld()
    await world.install(host)
    for (const moment of moments)
      expect(outcome(host, await world.call(host, moment)), moment).toEqual({ allowed: true, reason: '' })
    await world.hold()
    const refused = outcome(host, await world.call(host, 'pre'))
    expect(refused.allowed).toBe(false)
    expect(refused.reason).toContain('other-session')
  },
)

test.each<SettingsAgentName>(['claude', 'codex'])(
  '%s: the installed command starts Node for the first of several calls only',
  async (host) => {
    await using world = new AgentWorld()
    await world.install(host)
    const started = join(world.tmp, 'started')
    const node = join(world.bin, 'node')
    rmSync(node)
    writeFileSync(node, `#!/bin/sh\necho x >>'${started}'\nexec '${process.execPath}' "$@"\n`, {
      mode: 0o755,
    })
    for (const call of ['one', 'two', 'three']) {
      const event = hookEvent(host, 'pre', { cwd: world.project, call })
      const ended = await world.line(world.command(host, 'pre'), event)
      expect(outcome(host, ended), call).toEqual({ allowed: true, reason: '' })
    }
    expect(readFileSync(started, 'utf8')).toBe('x\n')
    expect(world.command(host, 'pre')).toContain(join(world.installation, 'stint-hook.sh'))
  },
)

const faults: [what: string, breakIt: (world: AgentWorld) => void][] = [
  ['stint removed', (world) => rmSync(world.installation, { recursive: true })],
  ['half an update', (world) => rmSync(join(world.installation, 'hook-main.cjs'))],
  ['a file cut short', (world) => truncateSync(join(world.installation, 'hook-main.cjs'), 1000)],
  ['an empty file', (world) => truncateSync(join(world.installation, 'stint-hook.cjs'))],
  ['another file', (world) => writeFileSync(join(world.installation, 'stint-hook.cjs'), 'process.exit(7)')],
]

const faultsOf = (host: SettingsAgentName): typeof faults => [
  ...faults,
  ...(hosts[host].usesScript ? [scriptRemoved] : []),
]

const scriptRemoved: (typeof faults)[number] = [
  'the script removed',
  (world) => rmSync(join(world.installation, 'stint-hook.sh')),
]

test.each(commandHosts)('%s: a removed or broken stint blocks no tool', async (host) => {
  await using world = new AgentWorld()
  await world.install(host)
  await world.hold()
  const passes = async (moment: Moment): Promise<[Moment, boolean]> => {
    const { allowed, reason } = outcome(host, await world.call(host, moment))
    return [moment, allowed && reason === '']
  }
  for (const [what, breakIt] of faultsOf(host)) {
    world.restore()
    breakIt(world)
    expect(await Promise.all(moments.map(passes)), what).toEqual(moments.map((moment) => [moment, true]))
  }
})

test.each(commandHosts)('%s: a missing node blocks no tool', async (host) => {
  await using world = new AgentWorld()
  await world.install(host)
  const node = join(world.bin, 'node')
  rmSync(node)
  for (const moment of moments) {
    const line = world.command(host, moment)
    expect(line).toContain(`${node} `)
    expect(outcome(host, await world.call(host, moment, line)), moment).toEqual({ allowed: true, reason: '' })
  }
})

test.each(commandHosts)('%s: project hooks do not block a user without stint', async (host) => {
  await using world = new AgentWorld()
  const path = await world.install(host, '--project')
  expect(path.startsWith(world.project)).toBe(true)
  await world.hold()
  const line = world.command(host, 'pre', path)
  expect(outcome(host, await world.call(host, 'pre', line))).toEqual({ allowed: true, reason: '' })
  // Copilot also reads the project files of Claude Code, and blocks on failures that Claude Code ignores.
  if (host === 'claude') expect(outcome('copilot', await world.callByCopilot(line)).allowed).toBe(true)
  symlinkSync(join(world.installation, 'stint-hook.cjs'), join(world.bin, 'stint-hook'))
  expect(outcome(host, await world.call(host, 'pre', line)).allowed).toBe(false)
  if (host === 'claude') expect(outcome('copilot', await world.callByCopilot(line)).allowed).toBe(false)
})

test.each(['claude', 'codex'] as const)(
  '%s: project hooks name no path, and start Node for the first call of a session only',
  async (host) => {
    await using world = new AgentWorld()
    const path = await world.install(host, '--project')
    const line = world.command(host, 'pre', path)
    expect(line).not.toContain(world.tmp)
    // As npm does: a relative link, to what package.json names.
    const { bin } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
      bin: Record<string, string>
    }
    symlinkSync(`../stint/${basename(bin['stint-hook'] ?? '')}`, join(world.bin, 'stint-hook'))
    const starts = world.noteStartsOfNode()
    for (const moment of ['pre', 'post', 'pre', 'post'] as const) {
      const ended = await world.call(host, moment, world.command(host, moment, path))
      expect(outcome(host, ended).allowed, moment).toBe(true)
    }
    expect(starts()).toBe(1)
    await world.call(host, 'stop', world.command(host, 'stop', path))
    await world.hold()
    expect(outcome(host, await world.call(host, 'pre', line)).allowed).toBe(false)
    expect(starts()).toBe(3)
  },
)

test.each(commandHosts)(
  '%s: --fail-closed blocks a call when stint is missing or broken, and nothing else',
  async (host) => {
    await using world = new AgentWorld()
    await world.install(host, '--fail-closed')
    expect(outcome(host, await world.call(host, 'pre'), true).allowed).toBe(true)
    // While its claim stands, a session whose hook has a script needs nothing else.
    await world.call(host, 'stop')
    for (const [what, breakIt] of faultsOf(host)) {
      world.restore()
      breakIt(world)
      // Node runs an empty file with success, as a hook that allows the call does where it prints nothing.
      const passes = what === 'an empty file' && hosts[host].allowIfFailClosed === undefined
      expect(outcome(host, await world.call(host, 'pre'), true).allowed, what).toBe(passes)
      for (const moment of ['post', 'stop'] as const)
        expect((await world.call(host, moment)).code, `${what}: ${moment}`).not.toBe(2)
    }
  },
)

test.each(commandHosts)('%s: with --fail-closed, a refusal gives only its own reason', async (host) => {
  await using world = new AgentWorld()
  await world.install(host, '--fail-closed')
  await world.hold()
  const { allowed, reason } = outcome(host, await world.call(host, 'pre'), true)
  expect([allowed, reason]).toEqual([false, expect.stringContaining('other-session')])
  expect(reason).not.toContain('failed')
})
