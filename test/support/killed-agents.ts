import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { installFrameworks } from './framework-packages.ts'
import { readIfThere } from './read-if-there.ts'
import { projectRoot, type Running, until, World } from './world.ts'

export const exampleAgents = ['langgraph', 'claude-agent-sdk', 'openai-agents'] as const

/**
 * Kills an example agent at random moments, starts it again each time, and lets it end. The witness is the
 * file with its effects: a line for each step it has taken.
 */
export async function killAgent(name: (typeof exampleAgents)[number], kills: number): Promise<void> {
  await using world = new World()
  const project = join(world.tmp, 'project')
  installFrameworks(project)
  copyFileSync(join(projectRoot, `examples/agents/${name}.mjs`), join(project, 'agent.mjs'))
  const file = join(project, 'effects')
  const effects = (): number[] => readIfThere(file).split('\n').filter(Boolean).map(Number)
  const user = join(world.tmp, 'user')
  mkdirSync(user)
  const env = {
    HOME: user,
    // The SDK leaves a copy of the transcript there when it is killed.
    TMPDIR: user,
    CLAUDE_CONFIG_DIR: join(user, '.claude'),
    CLAUDE_CODE: join(projectRoot, 'test/fixtures/claude-code-stand-in.mjs'),
  }
  const start = (steps: number): Running =>
    world.start(process.execPath, ['agent.mjs', String(steps), file], { cwd: project, env })

  for (let kill = 1; kill <= kills; kill++) {
    // More steps than a test waits for: on a busy machine, too, the agent is still at work when it is killed.
    const agent = start(9_000)
    const before = effects().length
    const wanted = before + 1 + Math.floor(Math.random() * 2)
    await until(
      'it takes steps, or has failed',
      () => effects().length >= wanted || agent.child.exitCode !== null,
    )
    await delay(Math.random() * 20)
    agent.child.kill('SIGKILL')
    expect(await agent.finished).toMatchObject({ signal: 'SIGKILL', stderr: '' })
  }
  const steps = new Set(effects()).size + 10
  const { code, stdout, stderr } = await start(steps).finished
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })

  const all = Array.from({ length: steps }, (_, index) => index + 1)
  expect(stdout.trimEnd().split('\n').at(-1)).toBe(`done ${all.join(' ')}`)
  const taken = effects()
  expect([...new Set(taken)]).toEqual(all)
  // The next step is taken only when the one before is recorded: from then on that one never comes again.
  expect(taken).toEqual(taken.toSorted((a, b) => a - b))
  expect(taken.length).toBeLessThanOrEqual(steps + kills)
}
