import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ownIdentity } from '../../src/base/process/liveness.ts'
import { acquireLease, fileStore } from '../../src/lease/index.ts'
import { filesystemStore } from '../../src/session/files/medium.ts'
import { type Answer, type Ended, type FaultedCommand, FaultWorld } from './failed-calls.ts'
import { type HomeFacts, isUnchanged } from './home-facts.ts'
import { hookBin, hookEvent, type Moment } from './hook-host.ts'
import { deadPid, plant } from './plant.ts'
import { readIfThere } from './read-if-there.ts'
import { SessionHolder } from './session-holder.ts'
import { projectRoot } from './world.ts'

const scratchRoot = `temp/stint-${process.geteuid?.()}`
const deadRun = `req_${'0'.repeat(26)}`

/**
 * A world whose home has sessions that are closed, held by this process, crashed, damaged and removed, a
 * claim of this process on the workspace and one of the session `me` on `db`, and what a dead run left.
 */
export async function stockedWorld(): Promise<FaultWorld> {
  const world = new FaultWorld()
  const home = join(world.template, 'home')
  const store = filesystemStore({ home })
  for (const id of ['mine', 'broken', 'gone']) {
    const session = await store.create({ id, tool: 'test', title: `about ${id}` })
    for (let n = 1; n <= 3; n++) await session.append({ type: 'message', data: { n } })
    await session.act({ action: 'shell', key: 'k1' }, () => 'done')
    await session.slot('todo', { version: '1', initial: 0 }).set(1)
    await session.turn()
    await session.close()
  }
  await store.remove('gone')
  const journal = join(home, 'sessions/broken/journal.log')
  writeFileSync(journal, readFileSync(journal, 'utf8').replace('"n":2', '"n":9'))
  const held = await store.create({ id: 'held' })
  await held.append({ type: 'message', data: { n: 1 } })
  const holder = await SessionHolder.start(world, home)
  await holder.tell({ do: 'create', options: { id: 'crashed' } })
  await holder.tell({ do: 'append', type: 'message', data: { n: 1 } })
  await holder.signal('SIGKILL')
  const leases = fileStore(home)
  // Without a process: the commands are children of this one, which would make them parties below it.
  await acquireLease({
    sessionId: 'other',
    pid: null,
    workspace: world.workspace,
    store: leases,
    ttlMs: 3_600_000,
  })
  for (const args of [['lock', 'acquire', '--session', 'me', '--resource', 'db', '--ttl', '1d']])
    await world.run({ title: 'stock', args }, world.template)
  plant({ root: join(world.template, scratchRoot) }, { ...ownIdentity(), pid: deadPid }, {}, deadRun)
  return world
}

const isChanged = ({ before, after }: Ended): boolean => !isUnchanged(before, after)

/** The faults of a command that changes something: after an error, nothing has changed. */
const changing =
  (isDone: (ended: Ended) => boolean): FaultedCommand['faults'] =>
  (ended) => {
    if (ended.answer.code === undefined) return isDone(ended) ? [] : ['a false answer: it is not done']
    return isChanged(ended) ? [`rejected, but ${differences(ended)}`] : []
  }

/** The name of the run whose scratch or owner record this is. */
const runOf = ({ path }: { path: string }): string => basename(path, '.owner')

/** The faults of a command that only reads: nothing changes, and its answer is that of a clean run. */
const reading =
  (essenceOf: (data: Answer['data']) => unknown = (data) => data): FaultedCommand['faults'] =>
  (ended) => {
    const { answer, clean } = ended
    const faults = isChanged(ended) ? [`it only reads, but ${differences(ended)}`] : []
    if (answer.code !== clean.code) return faults
    const [got, wanted] = [essenceOf(answer.data), essenceOf(clean.data)]
    if (isDeepStrictEqual(got, wanted)) return faults
    return [...faults, `a false answer: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`]
  }

/** Names what was added and removed. */
function differences({ before, after }: Ended): string {
  const [old, now] = [linesOf(before), linesOf(after)]
  return [
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
  ].join(', ')
}

const linesOf = ({ sessions, claims, trash, ran }: HomeFacts): string[] => [
  ...Object.entries(sessions).flatMap(([id, { events, audit }]) => [
    `session ${id}`,
    ...[...events, ...audit].map((each) => `${id}: ${each.slice(0, 60)}`),
  ]),
  ...claims.map((claim) => `claim ${claim}`),
  ...trash.map((name) => `trash ${name}`),
  ran,
]

const hasEvent = ({ sessions }: HomeFacts, id: string, event: string): boolean =>
  sessions[id]?.events.includes(event) ?? false

const append = (title: string, id: string, ...options: string[]): FaultedCommand => ({
  title: `sessions append ${title}`.trim(),
  args: ['sessions', 'append', id, '--type', 'note', '--data', '1', '--json', ...options],
  faults: changing(({ after }) => hasEvent(after, id, 'note 1')),
})

/** A copy that is there but cannot be opened or verified is an error, whose message says that it is there. */
const copying: FaultedCommand['faults'] = (ended) => {
  const isThere = hasEvent(ended.after, 'copy', 'message {"n":3}')
  if (ended.answer.message.includes('is made, but')) return isThere ? [] : ['it is not made']
  return changing(() => isThere)(ended)
}

/** A program that ends a command of stint with Ctrl-C as soon as it has printed something. */
const stintOnce = join(projectRoot, 'test/fixtures/stint-once.mjs')

/** A program that opens a session, does everything with it and closes it, and says what was acknowledged. */
const life = (how: 'create' | 'resume', id: string): FaultedCommand => ({
  title: how,
  program: join(projectRoot, 'test/fixtures/session-life.mjs'),
  args: [how, id],
  faults({ answer, after }) {
    const { acknowledged, rejected } = answer.data as { acknowledged: string[]; rejected: [string, string][] }
    const isRejected = (step: string): boolean => rejected.some(([each]) => each === step)
    const faults: string[] = []
    for (const [step, event] of [
      ['event', 'event 1'],
      ['last', 'last 2'],
    ] as const) {
      const isThere = hasEvent(after, id, event)
      if (acknowledged.includes(step) && !isThere) faults.push(`${step} was acknowledged, and is lost`)
      if (isRejected(step) && isThere) faults.push(`${step} was rejected, and is there`)
    }
    if (how === 'create' && isRejected('open') && after.sessions[id] !== undefined)
      faults.push('rejected, but the session is there')
    return faults
  },
})

const hookLog = ({ place }: Ended): string => readIfThere(join(place, 'home/hook.log'))

const isRecorded = ({ after }: Ended): boolean => (after.sessions.agent?.events.length ?? 0) > 0

const hook = (
  title: string,
  moment: Moment,
  { session = 'agent', cwd = 'WORLD/free', options = [] as readonly string[] } = {},
): Omit<FaultedCommand, 'faults'> => ({
  title: `hook ${title}`,
  program: hookBin,
  args: ['claude', ...options],
  input: JSON.stringify(hookEvent('claude', moment, { cwd, session })),
  isHook: true,
})

const isRefused = ({ answer: { result } }: Ended): boolean => result.stdout.includes('"deny"')

/** A hook that does not do its work lets the call through, and says so in its log, or on stderr. */
const unlessLogged =
  (isDone: (ended: Ended) => boolean): FaultedCommand['faults'] =>
  (ended) =>
    isDone(ended) || hookLog(ended) !== '' || ended.answer.result.stderr !== ''
      ? []
      : ['not done, and no line in the log']

const shell = ['sh', '-c', 'echo ran >> PLACE/ran']
const hasRun = ({ after }: Ended): boolean => after.ran === 'ran\n'
const settings = '{"model":"a"}'
const config = 'model = "a"\n'
const configOf = (place: string): string => join(place, 'user/.codex/config.toml')
const settingsOf = (place: string): string => join(place, 'user/.claude/settings.json')

interface Row {
  session_id: string
  state: string
}

/** A session that cannot be read is listed as damaged; a process without descriptors knows nothing of it. */
const describeRow = ({ session_id, state }: Row, { error = '' }: Ended): string =>
  ['EIO', 'EACCES'].includes(error) ? session_id : `${session_id} ${state}`

/** The lines of an answer, without what differs from run to run. */
const hitsOf = (answer: unknown): number => String(answer).split('\n').length

const recordCall = hook('pre --record', 'pre', { options: ['--record'] })

/** The messages of a client of the 2025 era: it begins, and calls tools, one after the other. */
function toMcp(calls: [name: string, args: object][]): string {
  const begin = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  const messages = [
    { id: 0, method: 'initialize', params: begin },
    { method: 'notifications/initialized' },
    ...calls.map(([name, args], i) => ({
      id: i + 1,
      method: 'tools/call',
      params: { name, arguments: args },
    })),
  ]
  return messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')
}

/** Every command that touches the home. */
export const faultedCommands: readonly FaultedCommand[] = [
  {
    title: 'lock acquire',
    args: ['lock', 'acquire', '--session', 'new', '--resource', 'deploy', '--json'],
    faults: changing(({ after }) => after.claims.includes('deploy new')),
  },
  {
    title: 'lock acquire, refused',
    args: ['lock', 'acquire', '--session', 'new', '--json'],
    clean: 'LOCK_HELD',
    faults: (ended) => (isChanged(ended) || ended.answer.code === undefined ? ['granted'] : []),
  },
  {
    title: 'lock release',
    args: ['lock', 'release', '--session', 'me', '--resource', 'db', '--json'],
    faults: changing(({ after }) => !after.claims.includes('db me')),
  },
  {
    title: 'lock status',
    args: ['lock', 'status', '--json'],
    faults: reading(({ claims }) => (claims as Row[]).map(({ session_id }) => session_id)),
  },
  {
    title: 'lock status --all',
    args: ['lock', 'status', '--all', '--json'],
    faults: reading(({ workspaces, unreadable }) => (workspaces as []).length + (unreadable as []).length),
  },
  {
    title: 'lock break',
    args: ['lock', 'break', '--session', 'me', '--resource', 'db', '--reason', 'test', '--yes', '--json'],
    faults: changing(({ after }) => !after.claims.includes('db me')),
  },
  {
    title: 'lock acquire --wait',
    args: ['lock', 'acquire', '--session', 'new', '--wait', '100ms', '--json'],
    clean: 'LOCK_HELD',
    faults: (ended) => (isChanged(ended) || ended.answer.code === undefined ? ['granted'] : []),
  },
  {
    title: 'lock wait',
    args: ['lock', 'wait', '--resource', 'deploy', '--timeout', '100ms', '--json'],
    faults: reading(() => undefined),
  },
  {
    title: 'lock history',
    args: ['lock', 'history', '--json'],
    faults: reading(({ recorded }) => recorded as unknown),
  },
  { title: 'run', args: ['run', '--json', '--', ...shell], faults: changing(hasRun) },
  {
    title: 'run --lock',
    args: ['run', '--json', '--lock', '--resource', 'build', '--', ...shell],
    faults: (ended) => {
      const { answer, before, after } = ended
      // A claim that was not released ends with its process.
      const isReleased = isDeepStrictEqual(after.claims, before.claims) || answer.warnings.length > 0
      const isRight = answer.code === undefined ? hasRun(ended) && isReleased : true
      return isRight ? [] : ['a false answer: it has not run, or the claim is still there']
    },
  },
  {
    title: 'run --record',
    args: ['run', '--json', '--record', '--session', 'run', '--', ...shell],
    faults: (ended) => {
      const { answer, after } = ended
      const { events = [] } = after.sessions.run ?? {}
      if (answer.code === undefined)
        return hasRun(ended) && (events.length === 2 || answer.warnings.length > 0) ? [] : ['not recorded']
      // Records of the start, and of the failure, may be there.
      return after.ran === '' ? [] : ['it failed, but the program has run']
    },
  },
  append('--create', 'new', '--create'),
  append('', 'mine'),
  append('to a held session', 'held'),
  append('to a crashed session', 'crashed'),
  life('create', 'new'),
  life('resume', 'mine'),
  {
    title: 'sessions fork',
    args: ['sessions', 'fork', 'mine', '--id', 'copy', '--json'],
    faults: copying,
  },
  {
    title: 'sessions rm',
    args: ['sessions', 'rm', 'mine', '--yes', '--json'],
    faults: changing(
      ({ after: { sessions, trash } }) => sessions.mine === undefined && trash.includes('mine'),
    ),
  },
  {
    title: 'sessions restore',
    args: ['sessions', 'restore', 'gone', '--json'],
    faults: changing(({ after: { sessions, trash } }) => sessions.gone !== undefined && trash.length === 0),
  },
  {
    title: 'sessions prune',
    args: ['sessions', 'prune', '--keep', '0', '--yes', '--json'],
    // Each session is removed by itself, and an error says which were. One that cannot be read stays.
    faults({ answer: { code, data }, before, after: { sessions, trash } }) {
      const removed = Object.keys(before.sessions).filter((id) => sessions[id] === undefined)
      const { sessions: pruned, changed } = (data ?? {}) as { sessions?: string[]; changed?: string[] }
      const said = (code === undefined ? pruned : changed) ?? []
      const lost = removed.filter((id) => !trash.includes(id)).map((id) => `${id} is lost`)
      return said.length === removed.length
        ? lost
        : [...lost, `it has removed ${removed.join()}, and says ${JSON.stringify(said)}`]
    },
  },
  {
    title: 'sessions list',
    args: ['sessions', 'list', '--json'],
    faults: (ended) =>
      reading(({ sessions }) => (sessions as Row[]).map((row) => describeRow(row, ended)))(ended),
  },
  {
    title: 'sessions show',
    args: ['sessions', 'show', 'mine', '--json'],
    faults: reading((data) => ({ ...data, path: '' }) as unknown),
  },
  {
    title: 'sessions tail -n all',
    args: ['sessions', 'tail', 'mine', '-n', 'all', '--json'],
    faults: reading(),
  },
  { title: 'sessions tail', args: ['sessions', 'tail', 'mine'], faults: reading() },
  {
    title: 'sessions verify',
    args: ['sessions', 'verify', 'mine', '--json'],
    faults: reading(),
  },
  {
    title: 'sessions verify --all',
    args: ['sessions', 'verify', '--all', '--json'],
    clean: 'JOURNAL_CORRUPT',
    faults: (ended) =>
      reading(({ sessions }) => (sessions as Row[]).map((row) => describeRow(row, ended)))(ended),
  },
  {
    title: 'sessions repair',
    args: ['sessions', 'repair', 'broken', '--json'],
    faults({ answer, after }) {
      const { session_id: copy = '' } = (answer.data ?? {}) as { session_id?: string }
      return answer.code === undefined && !after.sessions[copy]?.whole
        ? ['a false answer: no whole copy']
        : []
    },
  },
  {
    title: 'sessions copy',
    args: ['sessions', 'copy', 'mine', '--from', 'files', '--to', 'files', '--id', 'copy', '--json'],
    faults: copying,
  },
  {
    title: 'sessions list --sort size',
    args: ['sessions', 'list', '--sort', 'size', '--json'],
    faults: reading(({ sessions }) => (sessions as Row[]).length),
  },
  {
    title: 'sessions unlock',
    args: ['sessions', 'unlock', 'crashed', '--yes', '--json'],
    faults: reading(() => undefined),
  },
  {
    title: 'sessions search',
    args: ['sessions', 'search', 'message', '--json'],
    // A session that cannot be read is named in a warning.
    faults: (ended) => (ended.answer.result.stderr.includes('not searched') ? [] : reading(hitsOf)(ended)),
  },
  { title: 'audit show', args: ['audit', 'show', 'mine', '--json'], faults: reading() },
  { title: 'audit verify', args: ['audit', 'verify', 'mine', '--json'], faults: reading() },
  {
    title: 'sweep',
    args: ['sweep', '--json'],
    // A scratch whose owner cannot be read is kept, and reported. If its owner cannot be removed with it, the
    // same sweep comes upon the owner and removes it by itself.
    faults: reading(
      ({ removed, kept }) =>
        new Set([removed, kept].flatMap((all) => (all as { path: string }[]).map(runOf))).size,
    ),
  },
  {
    title: 'sweep --scope sessions',
    args: ['sweep', '--scope', 'sessions', '--json'],
    faults: ({ answer, after }) =>
      answer.code === undefined && after.trash.length > 0 ? ['a false answer: the trash is not empty'] : [],
  },
  {
    title: 'status',
    args: ['status', '--json'],
    faults: (ended) =>
      reading(({ workspaces, sessions, findings }) =>
        // What could not be looked at is a finding.
        (findings as { level: string }[]).some(({ level }) => level === 'fail')
          ? 'failed'
          : [(workspaces as []).length, (sessions as { total: number }).total],
      )(ended).filter((fault) => !fault.startsWith('a false answer: "failed"')),
  },
  { title: 'doctor', args: ['doctor', '--json'], faults: reading(() => undefined) },
  {
    title: 'temp list',
    args: ['temp', 'list', '--json'],
    faults: reading(({ entries }) => (entries as { path: string }[]).map(runOf)),
  },
  { title: 'temp stats', args: ['temp', 'stats', '--json'], faults: reading(() => undefined) },
  {
    title: 'temp check',
    args: ['temp', 'check', '--wait', '0s', '--json'],
    clean: 'ORPHANS_FOUND',
    faults: ({ answer: { code, warnings } }) =>
      code === undefined && warnings.length === 0 ? ['a false answer: no orphan'] : [],
  },
  {
    title: 'temp why',
    args: ['temp', 'why', `PLACE/${scratchRoot}/run/${deadRun}/work`, '--json'],
    faults: reading(({ request_id }) => request_id as unknown),
  },
  {
    title: 'lock status --watch',
    program: stintOnce,
    args: ['lock', 'status', '--watch', '--interval', '50ms'],
    faults: reading(() => undefined),
  },
  {
    title: 'sessions tail --follow',
    program: stintOnce,
    args: ['sessions', 'tail', 'mine', '--follow'],
    faults: reading(() => undefined),
  },
  {
    ...hook('pre', 'pre'),
    faults: unlessLogged(({ after }) => after.claims.some((claim) => claim.endsWith('/free agent'))),
  },
  { ...hook('pre, refused', 'pre', { cwd: 'WORLD/work' }), faults: unlessLogged(isRefused) },
  {
    ...hook('pre --fail-closed, refused', 'pre', { cwd: 'WORLD/work', options: ['--fail-closed'] }),
    // The command in the host's settings refuses the call if the hook exits with another code than 0.
    faults: (ended) => (isRefused(ended) || ended.answer.result.code === 1 ? [] : ['a call went through']),
  },
  {
    ...hook('stop', 'stop'),
    prepare: async (place, world) => void (await world.run(hook('pre', 'pre'), place)),
    faults: unlessLogged(({ after }) => !after.claims.some((claim) => claim.endsWith('/free agent'))),
  },
  ...(['start', 'prompt', 'post', 'failure', 'end'] as const).map((moment) => ({
    ...hook(moment, moment),
    prepare: async (place: string, world: FaultWorld) => void (await world.run(hook('pre', 'pre'), place)),
    faults: () => [],
  })),
  {
    title: 'hook git, refused',
    program: hookBin,
    args: ['git', 'pre-commit'],
    isHook: true,
    faults: unlessLogged(({ answer }) => answer.result.code === 2),
  },
  { ...recordCall, faults: unlessLogged(isRecorded) },
  {
    title: 'hook install',
    args: ['hook', 'install', 'claude', '--json'],
    prepare(place) {
      mkdirSync(join(place, 'user/.claude'))
      writeFileSync(settingsOf(place), settings)
    },
    faults({ answer, place }) {
      const text = readIfThere(settingsOf(place))
      const isInstalled = text.includes('"model"') && text.includes('stint-hook')
      // The settings are written first: what fails after that is repeated by the next install.
      const isRight = isInstalled || (answer.code !== undefined && text === settings)
      return isRight ? [] : [`the settings are ${text}`]
    },
  },
  {
    title: 'hook uninstall',
    args: ['hook', 'uninstall', 'claude', '--json'],
    async prepare(place, world) {
      mkdirSync(join(place, 'user/.claude'))
      writeFileSync(settingsOf(place), settings)
      await world.run({ title: 'install', args: ['hook', 'install', 'claude'] }, place)
    },
    faults({ answer, place }) {
      const text = readIfThere(settingsOf(place))
      const isRight = text === settings || (answer.code !== undefined && text.includes('stint-hook'))
      return isRight && text.includes('"model"') ? [] : [`the settings are ${text}`]
    },
  },
  { title: 'hook status', args: ['hook', 'status', '--json'], faults: reading(() => undefined) },
  {
    title: 'doctor with hooks',
    args: ['doctor', '--json'],
    prepare: async (place, world) =>
      void (await world.run({ title: 'install', args: ['hook', 'install', 'claude'] }, place)),
    faults: reading(() => undefined),
  },
  {
    title: 'mcp install',
    args: ['mcp', 'install', 'codex', '--json'],
    prepare(place) {
      mkdirSync(join(place, 'user/.codex'))
      writeFileSync(configOf(place), config)
    },
    faults({ answer, place }) {
      const text = readIfThere(configOf(place))
      const isInstalled = text.startsWith(config) && text.includes('[mcp_servers.stint]')
      return isInstalled || (answer.code !== undefined && text === config) ? [] : [`the settings are ${text}`]
    },
  },
  {
    title: 'mcp uninstall',
    args: ['mcp', 'uninstall', 'codex', '--json'],
    async prepare(place, world) {
      mkdirSync(join(place, 'user/.codex'))
      writeFileSync(configOf(place), config)
      await world.run({ title: 'install', args: ['mcp', 'install', 'codex'] }, place)
    },
    faults({ answer, place }) {
      const text = readIfThere(configOf(place))
      const isRight = text === config || (answer.code !== undefined && text.includes('mcp_servers.stint'))
      return isRight && text.startsWith(config) ? [] : [`the settings are ${text}`]
    },
  },
  {
    title: 'mcp',
    args: ['mcp'],
    input: toMcp([
      ['claim', { session: 'agent', workspace: 'WORLD/free' }],
      ['who', {}],
      ['history', {}],
      ['search_sessions', { text: 'message' }],
      ['release', { session: 'agent', workspace: 'WORLD/free' }],
    ]),
    faults: ({ before, after }) =>
      isDeepStrictEqual(before.claims, after.claims) ? [] : ['a claim has outlived its server'],
  },
  {
    title: 'ui',
    program: stintOnce,
    args: ['ui', '--no-open', '--json'],
    faults: reading(() => undefined),
  },
]
