import { execFileSync, type StdioOptions } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { HookChoices } from '../../src/hooks/options.ts'
import { hookCommand } from '../../src/hooks/install/command-text.ts'
import type { EventKind, HostEvent, SettingsAgentName } from '../../src/hooks/hosts/host.ts'
import { hosts } from '../../src/hooks/hosts/hosts.ts'
import { isHostVariable } from '../../src/hooks/install/agents.ts'
import { hostSettings } from '../../src/hooks/install/agents.ts'
import type { Claim } from '../../src/lease/index.ts'
import { LockWorld, recordedClaims } from './lock-world.ts'
import { type Finished, projectRoot, type Running } from './world.ts'

export const hookBin = join(projectRoot, 'dist/bin/stint-hook.cjs')
const program = [process.execPath, hookBin]

/** The hosts that run a command for each event. */
export const commandHosts = Object.keys(hostSettings) as SettingsAgentName[]

/** `edit` is a call that names its file; `failure` is the event with which a host reports a failed call. */
export type Moment = EventKind | 'edit' | 'failure' | RareMoment

/** Moments that only some hosts report, each with the name of its event. */
const rareEvents = {
  interrupt: 'PostToolUseFailure',
  denied: 'PermissionDenied',
  notification: 'Notification',
  idle: 'Notification',
} as const

type RareMoment = keyof typeof rareEvents

export interface Filled {
  session?: string
  cwd: string
  call?: string
  file?: string
}

/** An event as the host sends it, by its name in the fixture, which also names its source. */
export function hookEvent(
  host: SettingsAgentName | 'vscode',
  moment: string,
  filled: Filled,
): Record<string, unknown> {
  const path = join(projectRoot, 'test/fixtures/hook-events', `${host}.json`)
  const fixture = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  const { session = 'session-a', cwd, call = 'call-1', file = 'src/a.ts' } = filled
  const text = JSON.stringify(fixture[moment])
    .replaceAll('SESSION', session)
    .replaceAll('CWD', cwd)
    .replaceAll('CALL', call)
    .replaceAll('FILE', file)
  return JSON.parse(text) as Record<string, unknown>
}

/** The event's entry in the table of hosts. */
export function registered(host: SettingsAgentName, moment: Moment): HostEvent {
  const kind = moment === 'edit' ? 'pre' : moment
  const { events } = hosts[host]
  const rare = Object.entries(rareEvents).find(([name]) => name === moment)?.[1]
  // Codex has no event for a failed call, but one for an interrupted turn.
  const failure = events.find(({ name, failed }) => failed ?? name === 'Interrupt')
  const found =
    events.find(({ name }) => name === rare) ??
    (kind === 'failure' ? failure : undefined) ??
    events.find((event) => event.kind === (kind === 'failure' ? 'post' : kind))
  if (found === undefined) throw new Error(`${host} has no ${moment}`)
  return found
}

/** The shell command in the host's settings; without restore points, unless the test is about those. */
export const lineOf = (
  host: SettingsAgentName,
  moment: Moment,
  choices: HookChoices = {},
  how: readonly string[] = program,
): string => hookCommand(hosts[host], registered(host, moment), how, { undo: false, ...choices })

/** The host's reaction to the end of a hook, by its documentation. */
export interface Outcome {
  allowed: boolean
  /** The text that the model gets. */
  reason: string
}

const allowed: Outcome = { allowed: true, reason: '' }
const denied = (reason: string): Outcome => ({ allowed: false, reason })

/** The end of a hook; one that its host killed for a timeout has no exit code. */
export type Ended = Pick<Finished, 'code' | 'stdout' | 'stderr'>

/** Some hosts block on a hook's failure, if their settings say so. */
export function outcome(host: SettingsAgentName, ended: Ended, failClosed = false): Outcome {
  const closed = failClosed && hostSettings[host].failClosed !== undefined
  const fault = closed ? denied('the hook failed') : allowed
  const { code, stderr } = ended
  const json = parse(ended.stdout)
  switch (host) {
    case 'claude': {
      if (code === 2) return denied(stderr)
      if (code !== 0) return fault
      if (ended.stdout.trim() !== '' && json === undefined) return fault
      const output = json?.hookSpecificOutput as Record<string, unknown> | undefined
      return output?.permissionDecision === 'deny' ? denied(String(output.permissionDecisionReason)) : allowed
    }
    case 'codex': {
      // Codex allows the call if stderr is empty, or the output is unknown.
      if (code === 2) return stderr.trim() === '' ? allowed : denied(stderr)
      return allowed
    }
    case 'qwen': {
      // Qwen Code refuses by exit code 2 with a reason on stderr, else by the decision in JSON on stdout.
      if (code === 2) return stderr.trim() === '' ? allowed : denied(stderr)
      const said = json?.hookSpecificOutput as Record<string, unknown> | undefined
      return said?.permissionDecision === 'deny' ? denied(String(said.permissionDecisionReason)) : allowed
    }
    case 'cursor': {
      if (code === 2) return denied(stderr)
      if (code !== 0 || (closed && json === undefined)) return fault
      return json?.permission === 'deny' ? denied(String(json.agent_message)) : allowed
    }
    case 'copilot': {
      if (code === null) return allowed
      if (code !== 0) return denied(stderr)
      return json?.permissionDecision === 'deny' ? denied(String(json.permissionDecisionReason)) : allowed
    }
    case 'gemini': {
      if (code === null) return allowed
      const text = ended.stdout.trim() || stderr.trim()
      const said = parse(text)
      if (said !== undefined)
        return said.decision === 'deny' || said.decision === 'block' ? denied(String(said.reason)) : allowed
      return text !== '' && code >= 2 ? denied(text) : allowed
    }
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** A workspace, a home, and hosts that call hooks. */
export class HookWorld extends LockWorld {
  get claims(): Claim[] {
    return recordedClaims(this)
  }

  constructor() {
    super()
    // Remove the variables of an agent that runs these tests.
    for (const name of Object.keys(this.env)) if (isHostVariable(name)) this.env[name] = undefined
  }

  /** The write end of a pipe without a reader. */
  #unreadPipe(): number {
    const fifo = join(this.tmp, `deaf-${Math.random()}`)
    execFileSync('mkfifo', [fifo])
    const reader = openSync(fifo, 'r+')
    const writer = openSync(fifo, 'w')
    closeSync(reader)
    return writer
  }

  /** Sends an event to a hook whose stdout is not read. */
  startUnread(host: SettingsAgentName, moment: Moment, filled: Partial<Filled> = {}): Promise<Finished> {
    const event = hookEvent(host, moment, { cwd: this.workspace, ...filled })
    const path = join(this.tmp, 'event.json')
    writeFileSync(path, JSON.stringify(event))
    const pipe = this.#unreadPipe()
    const stdio: StdioOptions = [openSync(path, 'r'), pipe, 'pipe']
    const { finished } = this.start('sh', ['-c', lineOf(host, moment)], { stdio, cwd: this.workspace })
    closeSync(pipe)
    return finished
  }

  startHook(
    host: SettingsAgentName,
    moment: Moment,
    more: Partial<Filled> & { line?: string; input?: string } = {},
  ): Running {
    const event = hookEvent(host, moment, { cwd: this.workspace, ...more })
    const input = more.input ?? JSON.stringify(event)
    const line = more.line ?? lineOf(host, moment)
    const running = this.start('sh', ['-c', line], { input, cwd: this.workspace })
    // A hook that cannot start does not read stdin.
    running.child.stdin?.on('error', () => {})
    return running
  }

  /** Starts a hook whose host has written a part of the event, and leaves stdin open. */
  startUnfinished(line: string, written: string): Running {
    const fifo = join(this.tmp, 'stdin')
    execFileSync('mkfifo', [fifo])
    const fd = openSync(fifo, 'r+')
    writeSync(fd, written)
    const running = this.start('sh', ['-c', line], { stdio: [fd, 'pipe', 'pipe'], cwd: this.workspace })
    void running.finished.finally(() => closeSync(fd))
    return running
  }

  /** Sends an event as the host does, and returns the host's reaction. */
  async hook(
    host: SettingsAgentName,
    moment: Moment,
    more: Partial<Filled> & { choices?: HookChoices; input?: string } = {},
  ): Promise<Outcome & { ended: Finished }> {
    const line = lineOf(host, moment, more.choices)
    const ended = await this.startHook(host, moment, { ...more, line }).finished
    return { ...outcome(host, ended, more.choices?.failClosed), ended }
  }
}
