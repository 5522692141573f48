import { afterAll, beforeAll, expect, test } from 'vitest'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import type { Step } from './model.ts'
import { printReport, printVersions } from './report.ts'
import { Rig } from './rig.ts'

const refused = expect.stringContaining('parallel session lock held by')

beforeAll(printVersions)
afterAll(printReport)

test.each([
  [claude, codex],
  [codex, claude],
])(
  '$name claims the workspace by MCP: edits of the other agent are refused until it releases it',
  async (agent, other) => {
    await using rig = await Rig.open('--wait', '0')
    const installed = await rig.stint(['mcp', 'install', 'claude', 'codex', '--json'])
    expect(installed.code).toBe(0)
    const { model } = rig
    const release = async (): Promise<Step> => {
      expect(await rig.claims()).toMatchObject([{ session_id: expect.stringMatching(/\.mcp$/) }])
      expect(await rig.attempt(other, 'bob')).toEqual(refused)
      return agent.mcp('release', {})
    }
    const carolWrites = async (): Promise<Step> => {
      expect(await rig.attempt(other, 'carol')).not.toEqual(refused)
      return 'Done.'
    }
    model.script('alice', agent.mcp('claim', { purpose: 'new routes' }), release, carolWrites)
    await rig.play(agent, 'alice').finished
    const [claimed, released] = model.results('alice')
    expect(claimed).toContain('granted')
    expect(released).toContain('released')
    expect(rig.writes()).toEqual([{ text: 'carol', holders: ['carol'] }])
    expect(await rig.claims()).toEqual([])
    // Codex can have many sessions in one process, so the hook tells each model which one is its own.
    expect(model.request('alice').includes('stint knows this session as')).toBe(agent === codex)
  },
)
