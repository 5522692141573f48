import { appendFileSync, mkdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { type Agent, Rig } from './rig.ts'

/** A conversation in the vault, as `stint vault list` describes it. */
interface Kept {
  agent: string
  id: string
  title: string
  workspace: string
  source: string
  generations: number
}

/** How an agent continues a conversation and ends with its turn: its own command, and a prompt. */
const resumeCommands: Record<Agent['name'], (id: string, prompt: string) => string[]> = {
  claude: (id, prompt) => ['claude', '--resume', id, '-p', prompt, '--allowedTools', 'Bash'],
  codex: (id, prompt) => [
    'codex',
    'exec',
    'resume',
    '--dangerously-bypass-approvals-and-sandbox',
    '--skip-git-repo-check',
    id,
    prompt,
  ],
}

/** Has a conversation of two steps, and copies it into the vault. */
async function converse(rig: Rig, agent: Agent): Promise<void> {
  rig.model.script('alice', agent.shell('echo alice >> log.txt'), 'Alice has written.')
  await rig.play(agent, 'alice').finished
  await vault(rig, 'sync')
}

// oxlint-disable-next-line typescript/no-explicit-any -- each command has data of its own
async function vault(rig: Rig, ...args: string[]): Promise<any> {
  const { data, error } = (await rig.stint(['vault', ...args, '--json'])).envelope()
  if (error !== null && error !== undefined) throw new Error(JSON.stringify(error))
  return data
}

async function kept(rig: Rig): Promise<Kept> {
  const { conversations } = (await vault(rig, 'list')) as { conversations: Kept[] }
  const [first] = conversations
  if (first === undefined) throw new Error('the vault has no conversation')
  return first
}

/** Continues a conversation with another script; returns what the agent told its model. */
async function resume(rig: Rig, agent: Agent, id: string, cwd: string): Promise<string> {
  rig.model.script('bob', agent.shell('echo bob >> log.txt'), 'Bob has written.')
  const [program = '', ...args] = resumeCommands[agent.name](id, 'play bob')
  const { code, stdout, stderr } = await rig.start(program, args, { cwd }).finished
  expect(code, `${stdout}${stderr}`).toBe(0)
  return rig.model.request('bob')
}

test.each([claude, codex])(
  'a conversation of $name that was deleted is restored byte by byte, resumed by its own command, and goes on',
  async (agent) => {
    await using rig = await Rig.open()
    await converse(rig, agent)
    const { id, title, workspace, source } = await kept(rig)
    expect({ title, workspace }).toEqual({ title: 'play alice', workspace: rig.repository })
    const bytes = readFileSync(source, 'latin1')
    rmSync(dirname(source), { recursive: true })
    expect(await vault(rig, 'list', '--lost')).toMatchObject({ total: 1 })
    const { resume: command } = (await vault(rig, 'restore', id)) as { resume: string }
    expect(readFileSync(source, 'latin1')).toBe(bytes)
    expect(command).toBe(agent === claude ? `claude --resume ${id}` : `codex resume ${id}`)
    const told = await resume(rig, agent, id, rig.repository)
    expect(told).toContain('play alice')
    expect(told).toContain('Alice has written.')
    await rig.wrote('bob')
    await vault(rig, 'sync')
    const after = await kept(rig)
    expect(after).toMatchObject({ id, source, generations: 1 })
    expect(readFileSync(source, 'latin1').startsWith(bytes)).toBe(true)
    expect((await rig.stint(['vault', 'show', id], { env: { STINT_OUTPUT: '' } })).stdout).toContain(
      'Bob has written.',
    )
  },
)

test.each([claude, codex])(
  'a conversation of $name with a torn end is restored, and resumed in another directory',
  async (agent) => {
    await using rig = await Rig.open()
    await converse(rig, agent)
    const { id, source } = await kept(rig)
    appendFileSync(source, '{"type":"user","message":{"ro')
    const yesterday = Date.now() / 1000 - 86_400
    utimesSync(source, yesterday, yesterday)
    await vault(rig, 'sync')
    const bytes = readFileSync(source, 'latin1')
    rmSync(source)
    await vault(rig, 'restore', id)
    expect(readFileSync(source, 'latin1')).toBe(bytes)
    const other = join(rig.tmp, 'other')
    mkdirSync(other)
    const told = await resume(rig, agent, id, other)
    expect(told).toContain('play alice')
    expect(readFileSync(join(other, 'log.txt'), 'utf8')).toBe('bob\n')
  },
)
