import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Running, projectRoot, stintBin, until, World } from '../support/world.ts'
import { commandsOf, Terminal } from '../support/terminal.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { Model, type Step } from './model.ts'
import { noteScene } from './report.ts'

/** How the rig drives one agent. */
export interface Agent {
  /** The name by which `stint hook install` knows it. */
  name: 'claude' | 'codex'
  /** The variable that contains the id of the session, in the environment of its commands. */
  sessionVariable: string
  /** The question for the user's consent. Enter approves, Esc declines. */
  question: RegExp
  /** The events that the rig records. */
  events: readonly string[]
  /** Writes its configuration: no questions at the start, the stand-in model, and these hooks. */
  configure(rig: Rig, hooks: object): void
  /** The command line of a run that ends with its turn. */
  headless(prompt: string): string[]
  /** The command line of a session in a terminal, which asks its user for consent or never does. */
  interactive(prompt: string, asks: boolean): string[]
  /** A step that runs a shell command. */
  shell(command: string): Step
  /** A step that runs a shell command if the user consents, in a session that asks. */
  asking(command: string): Step
  /** A step that makes a file of one line with its tool for edits. */
  edit(path: string, line: string): Step
  /** A step that calls a tool of stint's MCP server. */
  mcp(tool: string, input: Record<string, unknown>): Step
  /** A step that starts a shell command in the background. */
  background(command: string): Step
}

/** An event as an agent sent it to its hooks. */
export interface AgentEvent {
  agent: string
  json: { hook_event_name: string; session_id: string; [field: string]: unknown }
}

/** A line that appeared in a file of the repository, and the scripts whose sessions had a claim then. */
interface Write {
  text: string
  holders: string[]
}

interface Claim {
  session_id: string
  expires_in_ms: number
  [field: string]: unknown
}

const agentPrograms = join(projectRoot, 'test/agents/node_modules/.bin')

/** A user with both agents and stint's hooks, a repository, the stand-in model, and the witness. */
export class Rig extends World {
  readonly repository = join(this.tmp, 'repository')
  /** A second repository, which a scene may make. */
  readonly second = join(this.tmp, 'second')
  /** A repository in the first one, which a scene may make. */
  readonly nested = join(this.repository, 'nested')
  readonly #events = join(this.tmp, 'events')
  readonly #windows: Terminal[] = []
  readonly #witness: Running

  static async open(...installOptions: string[]): Promise<Rig> {
    const rig = new Rig(await Model.listen())
    try {
      await rig.#prepare(installOptions)
      return rig
    } catch (error) {
      await rig[Symbol.asyncDispose]()
      throw error
    }
  }

  private constructor(readonly model: Model) {
    super()
    for (const path of [this.repository, this.#events]) mkdirSync(path)
    Object.assign(this.env, {
      HOME: this.tmp,
      TMPDIR: this.tmp,
      XDG_RUNTIME_DIR: this.tmp,
      PATH: [commandsOf(this), agentPrograms, this.env.PATH].join(delimiter),
      HTTP_PROXY: model.url,
      HTTPS_PROXY: model.url,
      NO_PROXY: '127.0.0.1',
    })
    // Codex runs commands in a login shell, whose system-wide profile sets another PATH.
    writeFileSync(join(this.tmp, '.profile'), `PATH='${this.env.PATH}'\n`)
    const witness = join(projectRoot, 'test/agents/witness.mjs')
    const watched = [this.repository, this.second, this.nested]
    this.#witness = this.start(process.execPath, [witness, stintBin, ...watched])
  }

  async #prepare(installOptions: readonly string[]): Promise<void> {
    await this.start('git', ['init', '-q', this.repository]).finished
    for (const agent of [claude, codex]) agent.configure(this, this.#recorder(agent))
    const installed = await this.stint(['hook', 'install', 'claude', 'codex', ...installOptions, '--json'])
    if (installed.code !== 0) throw new Error(`${installed.stdout}${installed.stderr}`)
    await until('the witness watches', () => this.#witness.output().stdout !== '')
  }

  /** Hooks that keep the events of an agent. */
  #recorder({ name, events }: Agent): object {
    const script = join(this.tmp, `record-${name}`)
    const file = `${this.#events}/$(date +%s%N)-$$-${name}`
    const lines = ['#!/bin/sh', `file=${file}`, 'cat > "$file" && mv "$file" "$file.json"']
    writeFileSync(script, `${lines.join('\n')}\n`)
    chmodSync(script, 0o700)
    const group = { hooks: [{ type: 'command', command: script }] }
    return Object.fromEntries(events.map((event) => [event, [group]]))
  }

  /** Starts an agent with the prompt `play SCRIPT`; it ends with its turn. */
  play(agent: Agent, script: string, ...options: string[]): Running {
    return this.playIn(this.repository, agent, script, ...options)
  }

  playIn(cwd: string, agent: Agent, script: string, ...options: string[]): Running {
    const [program = '', ...args] = agent.headless(`play ${script}`)
    return this.start(program, [...args, ...options], { cwd })
  }

  /** Makes a repository with a commit. */
  async makeRepository(path: string): Promise<void> {
    const commit = [
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      'first',
    ]
    await this.start('git', ['init', '-q', path]).finished
    await this.start('git', ['-C', path, ...commit]).finished
  }

  /** Opens a terminal in which an agent gets the prompt `play SCRIPT`. It does not end with its turn. */
  async window(
    agent: Agent,
    script: string,
    { asks = false, options = [] as readonly string[] } = {},
  ): Promise<Terminal> {
    const terminal = await Terminal.open(this, ['sh', '-i'], `window-${script}`)
    this.#windows.push(terminal)
    terminal.resize(120, 40)
    const words = [...agent.interactive(`play ${script}`, asks), ...options].map((word) => `'${word}'`)
    terminal.enter(`cd ${this.repository} && ${words.join(' ')}`)
    return terminal
  }

  /** Answers a question on the screen. A key that comes too early gets lost, so it is pressed again. */
  async answer(window: Terminal, { question }: Pick<Agent, 'question'>, key: string): Promise<void> {
    await window.shows(question)
    let pressedAt = 0
    await until('the question is answered', () => {
      if (!question.test(window.screen())) return true
      if (Date.now() - pressedAt < 3_000) return false
      window.press(key)
      pressedAt = Date.now()
      return false
    })
  }

  events(): AgentEvent[] {
    const names = readdirSync(this.#events).filter((name) => name.endsWith('.json'))
    return names.toSorted().map((name) => ({
      agent: name.slice(name.lastIndexOf('-') + 1, -'.json'.length),
      json: JSON.parse(readFileSync(join(this.#events, name), 'utf8')) as AgentEvent['json'],
    }))
  }

  /** The script of a session, by its first prompt; the id of a session without one. */
  #scriptOf(sessionId: string, events: readonly AgentEvent[]): string {
    const own = events.filter(({ json }) => json.session_id === sessionId)
    const prompts = own.map(({ json }) => /^play (.*)/.exec(String(json.prompt))?.[1])
    return prompts.find((script) => script !== undefined) ?? sessionId
  }

  /** Every line that has appeared in a file of the repository, in order. */
  writes(): Write[] {
    const lines = this.#witness.output().stdout.split('\n').slice(1, -1)
    const events = this.events()
    return lines.map((line) => {
      const { text, holders } = JSON.parse(line) as { text: string; holders: string[] }
      return { text, holders: holders.map((sessionId) => this.#scriptOf(sessionId, events)) }
    })
  }

  hasWritten(text: string): boolean {
    return this.writes().some((write) => write.text === text)
  }

  wrote(text: string): Promise<void> {
    return until(`${text} is written`, () => this.hasWritten(text))
  }

  /** The events of the session of this script, in order; notifications come at a time of their own. */
  sent(script: string): string[] {
    const events = this.events()
    return events
      .filter(({ json }) => this.#scriptOf(json.session_id, events) === script)
      .map(({ json }) => json.hook_event_name)
      .filter((name) => name !== 'Notification')
  }

  hasHeard(name: string, script: string): boolean {
    return this.sent(script).includes(name)
  }

  heard(name: string, script: string): Promise<void> {
    return until(`${script} sends ${name}`, () => this.hasHeard(name, script))
  }

  /** The claims in force on the repository. */
  async claims(): Promise<Claim[]> {
    return (await this.#status()).claims
  }

  /** The number of sessions that wait for the workspace. */
  async waiters(): Promise<number> {
    return (await this.#status()).waiters.length
  }

  async #status(): Promise<{ claims: Claim[]; waiters: unknown[] }> {
    const status = await this.stint(['lock', 'status', '--json'], { cwd: this.repository })
    return status.envelope().data as { claims: Claim[]; waiters: unknown[] }
  }

  /** Waits until no claim stands in the way of another session. */
  freed(): Promise<void> {
    return until('the workspace is free', async () => (await this.claims()).length === 0)
  }

  /** Runs a session that writes its name into a file. Returns what its model was told. */
  async attempt(agent: Agent, name: string, cwd = this.repository): Promise<string> {
    const told = (): string => this.model.results(name)[0] ?? ''
    const write = agent.shell(`echo ${name} >> log.txt`)
    const isOver = (): boolean => told().includes('lock held') || this.hasWritten(name)
    this.model.script(name, write, this.doneAfter(`${name} has written or was refused`, isOver))
    await this.playIn(cwd, agent, name).finished
    return told()
  }

  /** A step that ends the turn, but not before this. */
  doneAfter(what: string, condition: () => boolean | Promise<boolean>): () => Promise<Step> {
    return async () => {
      await until(what, condition)
      return 'Done.'
    }
  }

  /** A step that ends the turn when the witness has seen this line, and the claim of that moment. */
  doneAfterWrite(text: string): () => Promise<Step> {
    return this.doneAfter(`${text} is written`, () => this.hasWritten(text))
  }

  /** A step that ends the turn when another script has had a result. */
  doneAfterAttempt(script: string): () => Promise<Step> {
    return this.doneAfter(`${script} has tried`, () => this.model.results(script).length > 0)
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    noteScene(this.events(), this.model.refusedHosts)
    for (const window of this.#windows) await window[Symbol.asyncDispose]()
    await super[Symbol.asyncDispose]()
    await this.model[Symbol.asyncDispose]()
  }
}
