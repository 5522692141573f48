import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { addCronLine, cronLine, cronSchedule, hasCronLine, removeCronLine } from './crontab.ts'
import { checkTimerJob, dayMs, hourMs, minuteMs, type TimerJob } from './job.ts'
import { installedKind, planInstall, planUninstall, readTimerCommand, type TimerState } from './plan.ts'
import { isStintUnit, serviceName, serviceUnit, timerName, timerUnit } from './systemd-units.ts'

const job: TimerJob = {
  program: '/usr/bin/node',
  args: ['/opt/stint.cjs', 'sweep', '--json'],
  env: { STINT_TMP_ROOT: '/tmp' },
  everyMs: hourMs,
}
const odd: TimerJob = {
  ...job,
  program: '/opt/no de$x/node',
  args: ['/o"pt/50%/it\'s $HOME\\x', 'sweep'],
  env: { STINT_TMP_ROOT: '/tmp/a b%' },
}

test('the units contain exactly the documented lines', () => {
  expect(serviceUnit(job))
    .toBe(`# Written by \`stint sweep --install-timer\`; \`stint sweep --uninstall-timer\` removes it.
[Unit]
Description=Remove what dead runs of stint left behind

[Service]
Type=oneshot
Environment=STINT_TMP_ROOT=/tmp
ExecStart=/usr/bin/node /opt/stint.cjs sweep --json
Nice=10
`)
  expect(timerUnit(job))
    .toBe(`# Written by \`stint sweep --install-timer\`; \`stint sweep --uninstall-timer\` removes it.
[Unit]
Description=stint sweep every 1h

[Timer]
OnActiveSec=1min
OnUnitActiveSec=3600000ms

[Install]
WantedBy=timers.target
`)
})

test('units quote what systemd would interpret: blanks, quotes, %, and $ in arguments', () => {
  const lines = serviceUnit(odd).split('\n')
  expect(lines).toContain('Environment="STINT_TMP_ROOT=/tmp/a b%%"')
  expect(lines).toContain(`ExecStart="/opt/no de$x/node" "/o\\"pt/50%%/it's $$HOME\\\\x" sweep`)
})

test('the crontab line is exactly the documented one', () => {
  expect(cronLine(job)).toBe(
    '17 * * * * STINT_TMP_ROOT=/tmp /usr/bin/node /opt/stint.cjs sweep --json >/dev/null # stint-sweep-timer',
  )
})

test('cron and the shell start the intended command, whatever characters the paths contain', async () => {
  await using world = new World()
  const directory = join(world.tmp, `it's 50% "$HOME" \\ #`)
  mkdirSync(directory)
  const program = join(directory, 'print.cjs')
  const out = join(directory, 'out')
  writeFileSync(
    program,
    `require('node:fs').writeFileSync(process.env.OUT, JSON.stringify(process.argv.slice(1)))`,
  )
  const line = cronLine({ ...job, program: process.execPath, args: [program, '%d', "'"], env: { OUT: out } })
  // cron strips five time fields, ends the command at a bare %, and reads \% as %.
  const command = line.split(' ').slice(5).join(' ')
  expect(command).not.toMatch(/(?<!\\)%/)
  const { code } = await world.start('sh', ['-c', command.replaceAll('\\%', '%')]).finished
  expect(code).toBe(0)
  expect(JSON.parse(readFileSync(out, 'utf8'))).toEqual([program, '%d', "'"])
})

test('cron accepts intervals that divide an hour or a day; the error for others lists them', () => {
  expect(
    [minuteMs, 5 * minuteMs, 30 * minuteMs, hourMs, 2 * hourMs, 12 * hourMs, dayMs, 7 * dayMs].map(
      cronSchedule,
    ),
  ).toEqual([
    '* * * * *',
    '*/5 * * * *',
    '*/30 * * * *',
    '17 * * * *',
    '17 */2 * * *',
    '17 */12 * * *',
    '17 3 * * *',
    '17 3 * * 0',
  ])
  for (const everyMs of [7 * minuteMs, 90 * minuteMs, 61_000, 5 * hourMs, 2 * dayMs]) {
    const refused = thrown(() => cronSchedule(everyMs))
    expect(refused).toMatchObject({ code: 'ARG_ERROR' })
    expect(refused.hint).toContain('15, 20, 30 minutes')
  }
})

const crontabs = fc
  .array(fc.constantFrom('5 4 * * * backup', '# a comment', '', 'SHELL=/bin/fish', '\t', 'x\xff\xfe', '\r'))
  .chain((lines) => fc.constantFrom(lines.join('\n'), `${lines.join('\n')}\n`))

test('whatever is in a crontab, the line of stint is added once, and removing it restores every byte', () => {
  fc.assert(
    fc.property(crontabs, (crontab) => {
      const installed = addCronLine(crontab, job)
      expect(hasCronLine(crontab)).toBe(false)
      expect(hasCronLine(installed)).toBe(true)
      expect(installedKind({ units: {}, crontab: installed })).toBe('cron')
      expect(addCronLine(installed, job)).toBe(installed)
      expect(addCronLine(addCronLine(crontab, { ...job, everyMs: minuteMs }), job)).toBe(installed)
      expect(removeCronLine(installed)).toBe(crontab)
      expect(installed.endsWith(crontab)).toBe(true)
    }),
  )
})

const nothing: TimerState = { systemd: true, unitDirectory: '/units', units: {}, crontab: '' }
const ours = { [serviceName]: serviceUnit(job), [timerName]: timerUnit(job) }

test('with systemd, installing writes and starts both units; installing again writes nothing', () => {
  const { timer, steps } = planInstall(nothing, job)
  expect(timer).toBe('systemd')
  expect(steps).toEqual([
    { write: '/units/stint-sweep.service', text: serviceUnit(job), before: undefined },
    { write: '/units/stint-sweep.timer', text: timerUnit(job), before: undefined },
    { run: ['systemctl', '--user', 'daemon-reload'] },
    { run: ['systemctl', '--user', 'enable', '--now', 'stint-sweep.timer'] },
  ])
  expect(planInstall({ ...nothing, units: ours }, job).steps).toEqual(steps.slice(2))
  expect(installedKind(nothing)).toBe('none')
  expect(installedKind({ ...nothing, units: ours })).toBe('systemd')
})

test('another interval rewrites and restarts the timer, and removes an earlier line from the crontab', () => {
  const state = { ...nothing, units: ours, crontab: addCronLine('5 4 * * * backup\n', job) }
  const { steps } = planInstall(state, { ...job, everyMs: minuteMs })
  expect(steps).toEqual([
    expect.objectContaining({ write: '/units/stint-sweep.timer' }),
    { run: ['systemctl', '--user', 'daemon-reload'] },
    { run: ['systemctl', '--user', 'enable', '--now', 'stint-sweep.timer'] },
    { run: ['systemctl', '--user', 'restart', 'stint-sweep.timer'] },
    { run: ['crontab', '-'], input: '5 4 * * * backup\n' },
  ])
})

test('a unit of that name that stint did not write is neither overwritten nor removed', () => {
  const state = { ...nothing, units: { [timerName]: '[Timer]\n' } }
  expect(isStintUnit('[Timer]\n')).toBe(false)
  expect(thrown(() => planInstall(state, job))).toMatchObject({ code: 'NAME_TAKEN' })
  expect(planUninstall(state)).toEqual([])
  expect(installedKind(state)).toBe('none')
})

test('uninstalling removes the units and the crontab line of stint, and does nothing without them', () => {
  expect(planUninstall(nothing)).toEqual([])
  const removes = [{ remove: '/units/stint-sweep.service' }, { remove: '/units/stint-sweep.timer' }]
  expect(planUninstall({ ...nothing, units: ours, crontab: addCronLine('', job) })).toEqual([
    { run: ['systemctl', '--user', 'disable', '--now', 'stint-sweep.timer'] },
    ...removes,
    { run: ['systemctl', '--user', 'daemon-reload'] },
    { run: ['crontab', '-r'] },
  ])
  expect(planUninstall({ ...nothing, systemd: false, units: ours, crontab: undefined })).toEqual([
    { remove: '/units/timers.target.wants/stint-sweep.timer' },
    ...removes,
  ])
})

test('an interval below a minute and a path with a line break are refused', () => {
  expect(thrown(() => checkTimerJob({ ...job, everyMs: minuteMs - 1 }))).toMatchObject({ code: 'ARG_ERROR' })
  expect(thrown(() => checkTimerJob({ ...job, args: ['/a\n* * * * * evil'] }))).toMatchObject({
    code: 'TIMER_UNSUPPORTED',
  })
  expect(() => checkTimerJob(odd)).not.toThrow()
})

function thrown(act: () => unknown): StintError {
  try {
    act()
  } catch (error) {
    if (error instanceof StintError) return error
  }
  throw new Error('expected a StintError')
}

test('the command is read back as given from the units and from the crontab', () => {
  const word = fc.string({ unit: fc.constantFrom(...'ab/ $%"\'\\=-äł'), minLength: 1 })
  const words = fc.tuple(word, fc.array(word), word)
  fc.assert(
    fc.property(words, ([program, args, root]) => {
      const any: TimerJob = { program: `/${program}`, args, env: { STINT_TMP_ROOT: root }, everyMs: hourMs }
      const units = { [serviceName]: serviceUnit(any) }
      const crontab = addCronLine('# other\n', any)
      expect(readTimerCommand({ units, crontab: '' })).toEqual([any.program, ...args])
      expect(readTimerCommand({ units: {}, crontab })).toEqual([any.program, ...args])
    }),
  )
  expect(readTimerCommand({ units: { [serviceName]: 'another’s' }, crontab: 'x' })).toEqual([])
})
