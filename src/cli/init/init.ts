import { LivingSessions } from '../../agents/index.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { homePath } from '../../base/fs/home.ts'
import { visibleText } from '../../base/text/escape.ts'
import { wrap } from '../../base/text/wrap.ts'
import type { BareContext, Screen } from '../../command/context.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { findWorkspace } from '../../lease/index.ts'
import { judgeHooks, tryHooks } from '../health/hooks.ts'
import { type Check, isFinding } from '../health/check.ts'
import { confirm } from '../terminal/print.ts'
import { showWork } from '../terminal/progress.ts'
import { shortPath } from '../text/format.ts'
import { describeData, purgeStep, stepsBack } from './steps-back.ts'
import { type SetupExtras, setupSteps } from './setup-steps.ts'
import { applySteps, describeStep, type Step, type StepData } from './step.ts'

/** The answer of `stint init`. */
interface InitData {
  dry_run: boolean
  removes: boolean
  steps: StepData[]
  /** How each hook behaved when it was tried; empty if none was. */
  trial: Check[]
  /** Where the user's data is after a removal; null if there is none. */
  data: { path: string; contents: string } | null
  next: string[]
}

export const initCommand = defineBareCommand({
  name: 'init',
  summary:
    'Sets everything up for the agents you have: hooks, restore points, the vault, completion. Shows what it will do, asks once, and tries it. Running it again changes nothing.',
  options: {
    yes: { type: 'boolean', help: 'do not ask' },
    'dry-run': { type: 'boolean', help: 'show what would be done; change nothing' },
    timer: { type: 'boolean', help: 'also clean up and copy conversations every hour' },
    mcp: { type: 'boolean', help: 'also add the MCP server of stint to the agents that can use it' },
    'keep-ignored': {
      type: 'strings',
      value: 'PATTERN',
      help: 'also keep ignored files of this name in restore points, at most 1 MiB each; may be repeated',
    },
    remove: { type: 'boolean', help: 'take everything back but your data' },
    purge: { type: 'boolean', help: 'with --remove: delete your data, too' },
  },
  examples: [
    ['stint init', 'for every agent found'],
    ['stint init --dry-run', 'only show what it would do'],
    ["stint init --keep-ignored '.env*'", '`stint undo` brings back .env files, too'],
    ['stint init --remove', 'take it back; conversations and restore points stay'],
  ],
  async run(context, { options }): Promise<InitData> {
    const { remove, purge, timer, mcp, 'keep-ignored': keepIgnored } = options
    if (purge && !remove) throw new StintError('ARG_ERROR', '--purge goes with --remove only')
    if (remove && (timer || mcp || keepIgnored.length > 0))
      throw new StintError(
        'ARG_ERROR',
        '--remove takes everything back: leave --timer, --mcp and --keep-ignored out',
      )
    const workspace = findWorkspace().path
    const flags = { dryRun: options['dry-run'], yes: options.yes }
    if (remove) return await takeBack(context, workspace, { ...flags, purge })
    return await setUp(context, workspace, { ...flags, timer, mcp, keepIgnored })
  },
  render: renderInit,
})

interface Flags {
  dryRun: boolean
  yes: boolean
}

/** What every user should know before copies are made of their files. */
const secretsNote =
  'Restore points and the vault keep files as they are, secrets included. They are in your home directory, and only you can read them.'

async function setUp(
  context: BareContext,
  workspace: string,
  { dryRun, yes, ...extras }: Flags & SetupExtras,
): Promise<InitData> {
  const steps = await makeSteps(context, await setupSteps(context, workspace, extras), {
    dryRun,
    yes,
    intro: 'stint init will',
    outro: [secretsNote, '`stint init --remove` takes it back.'],
  })
  const data: InitData = { dry_run: dryRun, removes: false, steps, trial: [], data: null, next: [] }
  if (dryRun) return data
  assertDone(data)
  const trial = judgeHooks(await showWork('trying the hooks', context, tryHooks))
  // A check names its file first; the plan has named it already.
  const obstacles = trial
    .filter(isFinding)
    .map(({ text, fix }) => `${text.replace(/^[^:]*: /, '')}: ${fix ?? 'see `stint doctor`'}.`)
  const hasNewHooks = steps.some(({ name, is_done }) => name === 'hooks' && is_done)
  const restart =
    hasNewHooks && new LivingSessions().running().length > 0
      ? ['Start agents that run now again: they read their hooks when they start.']
      : []
  const next = [
    ...obstacles,
    ...restart,
    'Work as usual. `stint` shows who works where, and what to do next.',
  ]
  return { ...data, trial, next }
}

async function takeBack(
  context: BareContext,
  workspace: string,
  { purge, ...flags }: Flags & { purge: boolean },
): Promise<InitData> {
  const planned = [...stepsBack(workspace), ...(purge ? await purgeStep() : [])]
  const outro = purge ? ['What is deleted cannot be brought back.'] : []
  const steps = await makeSteps(context, planned, { ...flags, intro: 'stint init --remove will', outro })
  const home = homePath()
  const userData = await describeData(home)
  const data: InitData = {
    dry_run: flags.dryRun,
    removes: true,
    steps,
    trial: [],
    data: userData === undefined ? null : { path: home, contents: userData },
    next: [],
  }
  assertDone(data)
  return data
}

/** Throws `PARTIAL_FAILURE` if a step has failed. */
function assertDone(data: InitData): void {
  const messages = data.steps.flatMap(({ error }) =>
    error === null ? [] : `${error.code}: ${error.message}`,
  )
  if (messages.length > 0) throw new StintError('PARTIAL_FAILURE', messages.join('; '), { data })
}

interface Plan extends Flags {
  intro: string
  outro: readonly string[]
}

/** Shows the steps that are due, asks, and makes them. */
async function makeSteps(context: BareContext, all: readonly Step[], plan: Plan): Promise<StepData[]> {
  const due = all.filter(({ isDue }) => isDue)
  if (plan.dryRun || due.length === 0) return all.map(describeStep)
  const { say, screen, signal } = context
  say(`${renderPlan(due, plan, screen.columns)}\n\n`)
  await confirm(plan.yes, plan.intro.replace(' will', ''), 'Go ahead?')
  const madeSteps = await applySteps(due, { signal, onDone: (step) => say(`${renderStep(step, screen)}\n`) })
  return [...madeSteps, ...all.filter(({ isDue }) => !isDue).map(describeStep)]
}

function renderPlan(
  due: readonly Pick<Step, 'text'>[],
  { intro, outro }: Pick<Plan, 'intro' | 'outro'>,
  columns: number,
): string {
  const steps = due.flatMap(({ text }) => wrap(visibleText(`- ${text}`), columns - 2, 2))
  return [
    `${intro}:`,
    ...steps.map((line) => `  ${line}`),
    ...outro.flatMap((line) => wrap(line, columns)),
  ].join('\n')
}

function renderStep({ name, text, error }: StepData, { paint, columns }: Screen): string {
  const [mark, line] =
    error === null ? [paint.green('✓'), text] : [paint.red('✗'), `${name}: ${error.message}`]
  const [first = '', ...rest] = wrap(visibleText(line), columns - 2)
  return [`${mark} ${first}`, ...rest.map((more) => `  ${more}`)].join('\n')
}

/** Renders what follows the steps, which were printed when they were made. */
function renderInit(
  { dry_run, removes, steps, trial, data, next }: InitData,
  { columns, paint }: Screen,
): string {
  const due = steps.filter(({ is_due }) => is_due)
  if (dry_run && due.length > 0) {
    const intro = removes ? 'stint init --remove would' : 'stint init would'
    return renderPlan(due, { intro, outro: removes ? [] : [secretsNote] }, columns)
  }
  const sentence = (text: string, hanging = 0): string[] => wrap(visibleText(text), columns, hanging)
  if (removes)
    return [
      ...(due.length === 0 ? ['Nothing of stint is set up here.'] : []),
      ...(data === null
        ? []
        : sentence(
            `Your data is still in ${shortPath(data.path)}: ${data.contents}. \`stint init --remove --purge\` deletes it.`,
          )),
      'To remove stint itself: npm uninstall --global stint',
    ].join('\n')
  const works = trial
    .filter(({ level }) => level === 'ok')
    .flatMap(({ text }) => sentence(`✓ tried: ${text}`, 2))
    .map((line) => line.replace(/^✓/, paint.green('✓')))
  const nextLines = next.flatMap((line) => wrap(visibleText(`- ${line}`), columns - 2, 2))
  return [
    ...(due.length === 0 ? ['Everything is in place already.'] : []),
    ...works,
    ...(nextLines.length > 0 ? ['Next', ...nextLines.map((line) => `  ${line}`)] : []),
  ].join('\n')
}
