import { defineCommand } from '../../command/define-command.ts'
import { agentTitle } from '../../hook/hosts.ts'
import { newerThanChecked } from '../../hook-install/doctor/agent-version.ts'
import { examine, type Finding, isTriable, type Problem } from '../../hook-install/doctor/examine.ts'
import { emptyNodes, idle, type Latency, measure, type SlowReason, slowReasons } from '../health/latency.ts'
import { runLine, trialSession } from '../../hook-install/doctor/run-hook.ts'
import {
  passesWithoutNode,
  prepareGround,
  trialEnv,
  type TrialGround,
  tryHook,
} from '../../hook-install/doctor/trial.ts'
import { type Installation, inspect } from '../../hook-install/inspect.ts'
import { hostSettings, isSettingsAgent } from '../../hook-install/host-settings.ts'
import { targetsToInspect } from '../../hook-install/target.ts'
import { findWorkspace } from '../../lease/index.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import type { Screen } from '../../command/stdio.ts'
import { shortenPaths, shortPath } from '../text/format.ts'
import { showWork } from '../terminal/progress.ts'
import { agentPositionals, readAgents, readPlace, placeOptions } from './options.ts'

type Examined = Pick<Installation, 'agent' | 'place' | 'path' | 'state'> &
  Finding & {
    ok: boolean
    /** Whether a call of the session that holds the workspace starts no Node; absent if every call does. */
    without_node?: boolean
    latency?: Latency
  }

interface DoctorData {
  hooks: Examined[]
  /** The lower bound for a hook on this machine. */
  floor?: { node: Latency; sh: Latency }
  reasons: SlowReason[]
}

export const hookDoctorCommand = defineCommand({
  name: 'doctor',
  summary:
    'Runs each installed hook as its agent would, in a workspace made for the trial: does it allow, does it refuse, how fast is it? Exit 3 if something is wrong.',
  positionals: agentPositionals,
  options: {
    ...placeOptions,
    runs: { type: 'count', value: 'N', help: 'how many times to run each hook to measure it (20)' },
  },
  examples: [
    ['stint hook doctor', 'all hooks that can be seen from here'],
    ['stint hook doctor claude --runs 100', 'measure one hook more precisely'],
  ],
  async run(context, { options, positionals }): Promise<DoctorData> {
    const { scratch, say, screen } = context
    const agents = readAgents(positionals)
    const workspace = findWorkspace().path
    const seen = targetsToInspect(agents, readPlace(options), workspace).map(inspect)
    const installed = seen.filter(({ state }) => state !== 'absent')
    const missing = agents.filter((agent) => !installed.some((hook) => hook.agent === agent))
    if (missing.length > 0)
      throw new StintError('HOOKS_BROKEN', `no hooks are installed for ${missing.join(', ')}`, {
        hint: `Install them: stint hook install ${missing.join(' ')}`,
      })
    if (installed.length === 0) return { hooks: [], reasons: [] }
    const ground = prepareGround(scratch.dir('doctor'))
    const names = new Set(installed.map(({ agent }) => agent))
    const data = await showWork('trying hooks', context, async (update) => {
      const newer = new Map<string, Problem[]>()
      for (const agent of names) newer.set(agent, await newerThanChecked(agent, ground))
      const hooks: Examined[] = []
      for (const hook of installed) {
        const tried = isTriable(hook, workspace) ? await tryHook(hook, ground) : undefined
        const { problems, notes } = examine(hook, workspace, tried)
        const withoutNode = problems.length === 0 ? await passesWithoutNode(hook, ground) : undefined
        const always = withoutNode === false ? [alwaysNode] : []
        hooks.push({
          ...described(hook, { problems, notes: [...notes, ...(newer.get(hook.agent) ?? []), ...always] }),
          ...(withoutNode !== undefined && { without_node: withoutNode }),
        })
      }
      const runs = Math.max(1, options.runs ?? 20)
      return await withLatencies(hooks, installed, ground, runs, (done) =>
        update({ count: { done, total: runs } }),
      )
    })
    const broken = data.hooks.filter(({ ok }) => !ok)
    if (broken.length === 0) return data
    const working = data.hooks.filter(({ ok }) => ok)
    if (working.length > 0) say(renderDoctor({ ...data, hooks: working }, screen))
    throw new StintError('HOOKS_BROKEN', broken.flatMap(problemsOf).join('; '), { data })
  },
  render: renderDoctor,
})

/** The hooks of an earlier version, a home without a pass, or a `/proc` that cannot be read. */
const alwaysNode = {
  problem: 'every call starts Node, also of the session that holds the workspace',
  fix: 'install the hooks again; if that does not help, the temp directory or /proc is not as the script needs it',
}

const described = ({ agent, place, path, state }: Installation, finding: Finding): Examined => ({
  agent,
  place,
  path,
  state,
  ok: finding.problems.length === 0,
  ...finding,
})

/** Measures the hooks that work. */
async function withLatencies(
  hooks: Examined[],
  installed: Installation[],
  ground: TrialGround,
  runs: number,
  onRun: (done: number) => void,
): Promise<DoctorData> {
  const env = trialEnv(ground)
  const acts: Record<string, () => Promise<unknown>> = {
    ...emptyNodes(env),
    sh: () => idle('/bin/sh', ['-c', ':'], env),
  }
  for (const [index, { agent, commands }] of installed.entries()) {
    const line = commands[0]?.text
    if (!hooks[index]?.ok || line === undefined || !isSettingsAgent(agent)) continue
    const event = JSON.stringify(hostSettings[agent].trialEvent(ground.free, trialSession))
    acts[index] = () => runLine(line, [], ground.free, event, env)
  }
  const measured = await measure(runs, acts, onRun)
  const { node, sh } = measured
  if (node === undefined || sh === undefined) return { hooks, reasons: [] }
  const timed = hooks.map((hook, index) => {
    const latency = measured[index]
    return latency === undefined ? hook : { ...hook, latency }
  })
  return { hooks: timed, floor: { node, sh }, reasons: slowReasons({ node, withVariable: measured }) }
}

const problemsOf = (hook: Examined): string[] =>
  hook.problems.map(
    ({ problem, fix }) =>
      `${agentTitle(hook.agent)} (${visibleText(hook.path)}): ${visibleText(problem)}; ${visibleText(fix)}`,
  )

function renderDoctor({ hooks, floor, reasons }: DoctorData, { columns }: Pick<Screen, 'columns'>): string {
  if (hooks.length === 0) return 'no hooks of stint are installed here; `stint hook install` installs them'
  const times = ({ p50_ms, p95_ms }: Latency): string => `p50 ${p50_ms} ms, p95 ${p95_ms} ms`
  return [
    ...hooks.map((hook) => {
      const speed = hook.latency === undefined ? '' : `; ${times(hook.latency)}`
      const fast = hook.without_node
        ? '\n  the session that holds the workspace starts no Node for a call'
        : ''
      const notes = hook.notes.map(
        ({ problem, fix }) => `\n  ${shortenPaths(visibleText(`${problem}: ${fix}`), columns - 2)}`,
      )
      return `${agentTitle(hook.agent)}: allows and refuses calls as it should${speed}\n  ${visibleText(shortPath(hook.path))}${fast}${notes.join('')}`
    }),
    ...(floor === undefined
      ? []
      : [`for comparison: an empty node ${times(floor.node)}; an empty sh ${times(floor.sh)}`]),
    ...reasons.map(({ reason, fix }) => `${reason}: ${fix}`),
  ]
    .map((text) => wrapLines(text, columns))
    .join('\n')
}
