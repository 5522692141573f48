import { spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, realpathSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { codedError, StintError } from '../../base/errors/stint-error.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { stintHome } from '../../base/fs/home.ts'
import { latin1Of } from '../../base/fs/paths.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { findTmp } from '../../scratch/index.ts'
import { shellWord } from '../../base/text/escape.ts'
import { findOnPath } from '../../hooks/index.ts'
import { placeVariables } from '../../vault/index.ts'

/** A timer that sweeps every hour, as units of systemd and as a line of a crontab. */
export interface Timer {
  units: { path: string; text: string }[]
  crontab_line: string | null
}

/** The timer that was installed or removed, or would be. `started_by` is null after a removal. */
export interface TimerData extends Timer {
  dry_run: boolean
  started_by: 'systemd' | 'cron' | null
}

/** Ends the line of stint in a crontab; the shell that cron starts takes it for a comment. */
const cronMark = ' # stint-sweep-timer'
/** The first line of every unit that stint writes; a unit without it belongs to the user. */
const unitMark = '# Written by `stint sweep --install-timer`; `stint sweep --uninstall-timer` removes it.'

/** Installs the timer with systemd if that works, else with cron. */
export function installTimer(dryRun: boolean): TimerData {
  const { units, crontab_line } = makeTimer()
  if (hasSystemd()) {
    if (!dryRun) installUnits(units)
    return { dry_run: dryRun, started_by: 'systemd', units, crontab_line: null }
  }
  const crontab = readCrontab()
  if (crontab === undefined)
    throw new StintError('TIMER_UNSUPPORTED', 'neither `systemctl --user` nor `crontab` can be used here')
  if (!dryRun) replaceCrontab(`${latin1Of(crontab_line)}\n${withoutStint(crontab)}`)
  return { dry_run: dryRun, started_by: 'cron', units: [], crontab_line }
}

/** Removes every timer that stint has installed. */
export function uninstallTimer(dryRun: boolean): TimerData {
  const units = unitPaths()
    .map((path) => ({ path, text: readUnit(path) ?? '' }))
    .filter(({ text }) => text.startsWith(unitMark))
  const crontab = readCrontab() ?? ''
  const line = crontab.split('\n').find(isStintLine)
  if (!dryRun && units.length > 0) removeUnits(units)
  if (!dryRun && line !== undefined) replaceCrontab(withoutStint(crontab))
  const crontab_line = line === undefined ? null : Buffer.from(line, 'latin1').toString()
  return { dry_run: dryRun, started_by: null, units, crontab_line }
}

/** Names program, temp directory and home in full: cron and systemd have another environment. */
function makeTimer() {
  // The real path, because a link in a project's `node_modules/.bin` may disappear with the project.
  const command = [process.execPath, realpathSync.native(process.argv[1] ?? ''), 'sweep', '--vault', '--json']
  // A sync of the vault looks where the agents of this environment keep their conversations.
  const agents = placeVariables.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))
  const env: Record<string, string> = {
    STINT_TMP_ROOT: findTmp(),
    ...(process.env.STINT_HOME && { STINT_HOME: stintHome() }),
    ...Object.fromEntries(agents),
    // The vault gets the sessions of OpenCode from its own command.
    ...(findOnPath('opencode') !== undefined && { PATH: process.env.PATH }),
  }
  // A line break would end the entry and begin another.
  const invalid = [...command, ...Object.values(env)].find((word) => /\p{Cc}/u.test(word))
  if (invalid !== undefined)
    throw new StintError('TIMER_UNSUPPORTED', `no timer can be given ${JSON.stringify(invalid)}`, {
      hint: 'Install stint, or set STINT_TMP_ROOT and STINT_HOME, where the path has no control characters.',
    })
  const [service, timer] = unitPaths()
  return {
    units: [
      { path: service, text: serviceUnit(command, env) },
      { path: timer, text: timerUnit },
    ],
    crontab_line: cronLine(command, env),
  }
}

const timerName = 'stint-sweep.timer'

function unitPaths(): [service: string, timer: string] {
  const config = process.env.XDG_CONFIG_HOME
  const directory = join(config && isAbsolute(config) ? config : join(homedir(), '.config'), 'systemd/user')
  return [join(directory, 'stint-sweep.service'), join(directory, timerName)]
}

export const serviceUnit = ([program = '', ...args]: string[], env: Record<string, string>): string =>
  `${unitMark}
[Unit]
Description=Remove what dead runs of stint left behind

[Service]
Type=oneshot
${Object.entries(env)
  .map(([name, value]) => `Environment=${quote(`${name}=${value}`)}\n`)
  .join('')}ExecStart=${[quote(program), ...args.map(quoteArgument)].join(' ')}
Nice=10
`

const timerUnit = `${unitMark}
[Unit]
Description=stint sweep every hour

[Timer]
OnActiveSec=1min
OnUnitActiveSec=1h

[Install]
WantedBy=timers.target
`

/** systemd expands C escapes within quotes, and `%` specifiers everywhere: systemd.syntax(7). */
const quote = (text: string): string =>
  /^[\w@+=:,./-]+$/.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`

/** In arguments, but not in the program's path, systemd expands variables that begin with `$`. */
const quoteArgument = (text: string): string => quote(text).replaceAll('$', '$$$$')

/** Undefined if the name is free. A link and an unreadable file take the name, and are not stint's. */
function readUnit(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  return readSmallFile(path) ?? ''
}

function installUnits(units: Timer['units']): void {
  const foreign = units.find(({ path }) => readUnit(path)?.startsWith(unitMark) === false)
  if (foreign !== undefined)
    throw new StintError('NAME_TAKEN', `${foreign.path} exists already, and was not written by stint`, {
      hint: 'Move it away, or keep it and do without --install-timer.',
    })
  try {
    for (const { path, text } of units) writeUnit(path, text)
    systemctl('daemon-reload')
    systemctl('enable', '--now', timerName)
  } catch (error) {
    for (const { path } of units) rmSync(path, { force: true })
    throw error
  }
}

function writeUnit(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replaceFile(path, text)
  } catch (error) {
    throw codedError(error, `write ${path}`, 'Set XDG_CONFIG_HOME to a directory you may write to.')
  }
}

function removeUnits(units: Timer['units']): void {
  const isReachable = hasSystemd()
  if (isReachable) systemctl('disable', '--now', timerName)
  for (const { path } of units) rmSync(path, { force: true })
  if (isReachable) systemctl('daemon-reload')
}

/** Not on the hour, when most other jobs start. Standard error is kept, so cron mails errors to the user. */
export function cronLine(command: readonly string[], env: Record<string, string>): string {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${shellWord(value)}`)
  const words = [...settings, ...command.map(shellWord)].join(' ')
  // cron ends the command at an unescaped %: crontab(5).
  return `17 * * * * ${words.replaceAll('%', '\\%')} >/dev/null${cronMark}`
}

const isStintLine = (line: string): boolean => line.endsWith(cronMark)

const withoutStint = (crontab: string): string =>
  crontab
    .split('\n')
    .filter((line) => !isStintLine(line))
    .join('\n')

/** Treats only "no crontab" as empty: after another failure, a write would replace the existing one. */
function readCrontab(): string | undefined {
  const { status, stdout, stderr } = runTool('crontab', ['-l'])
  if (status === 0) return stdout
  return status !== null && /no crontab|no such file/i.test(stderr) ? '' : undefined
}

const replaceCrontab = (text: string): void =>
  text === '' ? runOrThrow('crontab', ['-r']) : runOrThrow('crontab', ['-'], text)

/** systemctl can be installed without a user manager behind it: in a container, after su, in a cron job. */
const hasSystemd = (): boolean => runTool('systemctl', ['--user', 'show-environment']).status === 0

const systemctl = (...args: string[]): void => runOrThrow('systemctl', ['--user', ...args])

function runOrThrow(tool: string, args: readonly string[], input?: string): void {
  const { status, stderr } = runTool(tool, args, input)
  if (status === 0) return
  const output = Buffer.from(stderr, 'latin1').toString().trim()
  const command = [tool, ...args].join(' ')
  throw new StintError('TIMER_UNSUPPORTED', `\`${command}\` failed${output && `: ${output}`}`, {
    detail: `status=${status ?? 'none'}`,
  })
}

/** Runs a system tool. Input and output are Latin-1, one character a byte: a crontab has any encoding. */
function runTool(tool: string, args: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync(tool, args, {
    input: Buffer.from(input, 'latin1'),
    encoding: 'latin1',
    env: { ...process.env, LC_ALL: 'C' },
    maxBuffer: 1 << 26,
    timeout: 60_000,
  })
  return { status, stdout: stdout ?? '', stderr: stderr ?? '' }
}

export function renderTimer({ dry_run, started_by, units, crontab_line }: TimerData): string {
  const line = crontab_line === null ? [] : [{ path: 'a line of your crontab', text: crontab_line }]
  const parts = [...units, ...line]
  if (started_by === null) {
    const verb = dry_run ? 'would remove' : 'removed'
    return parts.length === 0 ? 'there is no timer' : parts.map(({ path }) => `${verb} ${path}`).join('\n')
  }
  if (!dry_run) return `sweeps every hour, started by ${started_by}`
  return parts
    .map(({ path, text }) => `would write ${path}:\n${text.replace(/^(?=.)/gm, '    ').trimEnd()}`)
    .join('\n')
}
