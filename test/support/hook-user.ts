import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { SettingsAgentName } from '../../src/hooks/hosts/host.ts'
import { type Finished, stintBin, World } from './world.ts'

/** The file with the hooks of each agent, below the home directory of its user. */
export const userFiles = {
  claude: '.claude/settings.json',
  codex: '.codex/hooks.json',
  cursor: '.cursor/hooks.json',
  copilot: '.copilot/hooks/stint.json',
  gemini: '.gemini/settings.json',
  qwen: '.qwen/settings.json',
} as const satisfies Record<SettingsAgentName, string>

export const hookAgents = Object.keys(userFiles) as SettingsAgentName[]

export interface ChangeRow {
  agent: string
  place: string
  path: string
  outcome: string
  diff?: string
}

/** Everything in a directory: names, kinds, modes and contents, but no times. */
export function contentOf(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(
    names.map((name) => {
      const path = join(directory, name)
      const stat = lstatSync(path)
      const content = stat.isSymbolicLink()
        ? readlinkSync(path)
        : stat.isFile()
          ? readFileSync(path, 'base64')
          : ''
      return [name, `${stat.mode.toString(8)} ${content}`]
    }),
  )
}

/** A user with a home directory and a project, without any agent, and not inside one. */
export class HookUser extends World {
  readonly user = join(this.tmp, 'user')
  readonly project = join(this.tmp, 'project')
  readonly bin = join(this.tmp, 'bin')

  constructor(parent?: string) {
    super({}, parent)
    for (const path of [this.user, this.project, this.bin]) mkdirSync(path)
    symlinkSync(process.execPath, join(this.bin, 'node'))
    this.env.HOME = this.user
    this.env.PATH = `${this.bin}:${process.env.SYSTEM_PATH}`
  }

  /** The settings of an agent of this user. */
  file(agent: SettingsAgentName): string {
    return join(this.user, userFiles[agent])
  }

  read(path: string): string {
    return readFileSync(path, 'utf8')
  }

  hook(args: readonly string[], cwd: string = this.project): Promise<Finished> {
    return this.stint(['hook', ...args, '--json'], { cwd })
  }

  /** The output of a command for a person at a terminal. */
  async onTerminal(command: string): Promise<string> {
    const line = `${process.execPath} ${stintBin} ${command}`
    const options = { cwd: this.project, env: { STINT_OUTPUT: '' } }
    return (await this.start('script', ['-qec', line, '/dev/null'], options).finished).stdout
  }

  /** Changes hooks, and returns the changes; throws if that fails. */
  async change(...args: string[]): Promise<ChangeRow[]> {
    const finished = await this.hook(args)
    if (finished.code !== 0) throw new Error(`exit ${finished.code}: ${finished.stdout}${finished.stderr}`)
    return (finished.envelope().data as { hooks: ChangeRow[] }).hooks
  }

  /** Runs a line of shell as an agent does, with an event on its stdin. */
  line(line: string, event: object, env: NodeJS.ProcessEnv = {}): Promise<Finished> {
    const input = JSON.stringify(event)
    const running = this.start('/bin/sh', ['-c', line], { input, env, cwd: this.project })
    // A program that cannot start does not read stdin.
    running.child.stdin?.on('error', () => {})
    return running.finished
  }

  /** From now on, counts the starts of the node on PATH. */
  noteStartsOfNode(): () => number {
    const [node, starts] = [join(this.bin, 'node'), join(this.tmp, 'starts')]
    rmSync(node)
    const text = `#!/bin/sh\necho >>'${starts}'\nexec '${process.execPath}' "$@"\n`
    writeFileSync(node, text, { mode: 0o755 })
    writeFileSync(starts, '')
    return () => this.read(starts).length
  }

  git(...args: string[]): Promise<Finished> {
    const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'init.defaultBranch=main']
    return this.start('git', [...identity, ...args], { cwd: this.project }).finished
  }
}
