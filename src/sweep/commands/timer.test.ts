import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { treeHash } from '../../../test/support/tree-hash.ts'
import { type Finished, stintBin, World } from '../../../test/support/world.ts'
import { cronLine, serviceUnit } from './timer.ts'

/** A system with only the given tools, which are real programs that log their arguments. */
class System extends World {
  readonly bin = join(this.tmp, 'bin')
  readonly units = join(this.tmp, 'config/systemd/user')
  readonly crontab = join(this.tmp, 'crontab')
  readonly calls = join(this.tmp, 'calls')
  readonly home = join(this.tmp, 'home')

  constructor(tools: Record<string, string>) {
    super()
    mkdirSync(this.bin)
    Object.assign(this.env, { PATH: this.bin, XDG_CONFIG_HOME: join(this.tmp, 'config'), STUB: this.tmp })
    for (const [name, script] of Object.entries(tools)) {
      const path = join(this.bin, name)
      writeFileSync(path, `#!/bin/sh\nPATH=/usr/bin:/bin\necho "${name} $*" >> "$STUB/calls"\n${script}\n`)
      chmodSync(path, 0o755)
    }
  }

  timer(...flags: string[]): Promise<Finished> {
    return this.stint(['sweep', ...flags])
  }

  unitTexts(): string[] {
    return readdirSync(this.units).map((name) => readFileSync(join(this.units, name), 'utf8'))
  }

  called(): string[] {
    return existsSync(this.calls) ? readFileSync(this.calls, 'utf8').trimEnd().split('\n') : []
  }
}

const systemctl = 'exit 0'
const crontab = `case "$1" in
  -l) [ -f "$STUB/crontab" ] && exec cat "$STUB/crontab"; echo 'no crontab for you' >&2; exit 1 ;;
  -r) rm "$STUB/crontab" ;;
  -) cat > "$STUB/crontab" ;;
esac`

test('with systemd, units with absolute paths are enabled; uninstalling leaves nothing', async () => {
  await using system = new System({ systemctl, crontab })
  const installed = await system.timer('--install-timer')
  expect(installed.envelope()).toMatchObject({ ok: true, data: { started_by: 'systemd' } })
  const service = readFileSync(join(system.units, 'stint-sweep.service'), 'utf8')
  expect(service).toContain(`ExecStart=${process.execPath} ${stintBin} sweep --vault --json\n`)
  expect(service).toContain(
    `Environment=STINT_TMP_ROOT=${system.tmp}\nEnvironment=STINT_HOME=${system.home}\n`,
  )
  expect(readFileSync(join(system.units, 'stint-sweep.timer'), 'utf8')).toContain('OnUnitActiveSec=1h\n')
  expect(lstatSync(join(system.units, 'stint-sweep.timer')).mode & 0o777).toBe(0o600)
  expect(system.called()).toEqual([
    'systemctl --user show-environment',
    'systemctl --user daemon-reload',
    'systemctl --user enable --now stint-sweep.timer',
  ])
  await system.timer('--install-timer')
  expect(readFileSync(join(system.units, 'stint-sweep.service'), 'utf8')).toBe(service)
  const removed = (await system.timer('--uninstall-timer')).envelope()
  expect(removed).toMatchObject({ ok: true, data: { started_by: null, units: [{}, {}] } })
  expect(readdirSync(system.units)).toEqual([])
  expect(system.called()).toContain('systemctl --user disable --now stint-sweep.timer')
  expect((await system.timer('--uninstall-timer')).envelope()).toMatchObject({
    data: { units: [], crontab_line: null },
  })
})

test('with cron, one line is added before the others; uninstalling restores every byte', async () => {
  await using system = new System({ crontab })
  const others = Buffer.from('MAILTO=me\n5 4 * * * caf\xe9 \xff\n', 'latin1')
  writeFileSync(system.crontab, others)
  expect((await system.timer('--install-timer')).envelope()).toMatchObject({ data: { started_by: 'cron' } })
  const [line = '', ...rest] = readFileSync(system.crontab, 'latin1').split('\n')
  expect(line).toBe(
    `17 * * * * STINT_TMP_ROOT=${system.tmp} STINT_HOME=${system.home} ${process.execPath} ${stintBin} sweep --vault --json` +
      ' >/dev/null # stint-sweep-timer',
  )
  expect(rest.join('\n')).toBe(others.toString('latin1'))
  const installed = readFileSync(system.crontab)
  await system.timer('--install-timer')
  expect(readFileSync(system.crontab)).toEqual(installed)
  await system.timer('--uninstall-timer')
  expect(readFileSync(system.crontab)).toEqual(others)
})

test('the timer syncs the vault from where the agents are now, and has the path of OpenCode', async () => {
  await using system = new System({ crontab, opencode: '' })
  Object.assign(system.env, { GEMINI_CLI_HOME: '/g', QWEN_RUNTIME_DIR: '/q', CLAUDE_CONFIG_DIR: '/c' })
  await system.timer('--install-timer')
  expect(readFileSync(system.crontab, 'utf8')).toContain(
    ` CLAUDE_CONFIG_DIR=/c GEMINI_CLI_HOME=/g QWEN_RUNTIME_DIR=/q PATH=${system.bin} ${process.execPath} `,
  )
})

test('the timer starts the real path of a linked program, and sets STINT_HOME only if it is set', async () => {
  await using system = new System({ crontab })
  delete system.env.STINT_HOME
  const link = join(system.tmp, 'link.cjs')
  symlinkSync(stintBin, link)
  await system.start(process.execPath, [link, 'sweep', '--install-timer', '--json']).finished
  const line = readFileSync(system.crontab, 'utf8')
  expect(line).toContain(`STINT_TMP_ROOT=${system.tmp} ${process.execPath} ${stintBin} sweep`)
})

test('a path that is not ASCII is written to the crontab unchanged', async () => {
  await using system = new System({ crontab })
  const home = join(system.tmp, 'jürgen/łódź')
  await system.stint(['sweep', '--install-timer'], { env: { STINT_HOME: home } })
  expect(readFileSync(system.crontab, 'utf8')).toContain(` STINT_HOME='${home}' `)
})

test('uninstalling removes a crontab that has no other line', async () => {
  await using system = new System({ crontab })
  await system.timer('--install-timer')
  expect(readFileSync(system.crontab, 'utf8')).toMatch(/^17 \* \* \* \* .*\n$/)
  await system.timer('--uninstall-timer')
  expect(existsSync(system.crontab)).toBe(false)
})

test('a crontab that cannot be read is never overwritten', async () => {
  await using system = new System({
    crontab: 'case "$1" in -l) echo "you are not allowed" >&2; exit 1 ;; *) cat > "$STUB/crontab" ;; esac',
  })
  const { code, ...finished } = await system.timer('--install-timer')
  expect(finished.envelope()).toMatchObject({ error: { code: 'TIMER_UNSUPPORTED' } })
  expect([code, existsSync(system.crontab), system.called()]).toEqual([4, false, ['crontab -l']])
})

test('systemctl without a user manager is not used', async () => {
  await using system = new System({ systemctl: 'echo "Failed to connect to bus" >&2; exit 1', crontab })
  expect((await system.timer('--install-timer')).envelope()).toMatchObject({ data: { started_by: 'cron' } })
  expect(existsSync(system.units)).toBe(false)
})

test('without systemd and cron, installing fails with exit 4 and a hint, and writes nothing', async () => {
  await using system = new System({})
  const before = treeHash(system.tmp)
  const finished = await system.timer('--install-timer')
  expect(finished.code).toBe(4)
  expect(finished.envelope()).toMatchObject({
    error: { code: 'TIMER_UNSUPPORTED', suggestion: expect.stringContaining('stint sweep') },
  })
  expect(treeHash(system.tmp)).toBe(before)
})

test('if systemctl refuses to enable the timer, the units are removed', async () => {
  await using system = new System({
    systemctl: '[ "$2" = enable ] && { echo no bus >&2; exit 1; }; exit 0',
  })
  const refused = await system.timer('--install-timer')
  expect(refused.envelope()).toMatchObject({
    error: { code: 'TIMER_UNSUPPORTED', message: expect.stringContaining('no bus') },
  })
  expect(readdirSync(system.units)).toEqual([])
})

test.each(['a link', 'a unit of the user'])('%s of that name is left alone, with exit 6', async (kind) => {
  await using system = new System({ systemctl })
  const path = join(system.units, 'stint-sweep.timer')
  mkdirSync(system.units, { recursive: true })
  writeFileSync(join(system.tmp, 'dotfile'), '')
  if (kind === 'a link') symlinkSync(join(system.tmp, 'dotfile'), path)
  else writeFileSync(path, '[Timer]\n')
  const before = treeHash(system.units)
  const refused = await system.timer('--install-timer')
  expect([refused.code, refused.envelope().error?.code]).toEqual([6, 'NAME_TAKEN'])
  await system.timer('--uninstall-timer')
  expect(treeHash(system.units)).toBe(before)
})

test.each([
  ['systemd', ['systemctl', 'crontab']],
  ['cron', ['crontab']],
])('--dry-run shows what %s would start, and changes nothing', async (startedBy, tools) => {
  const scripts = { systemctl, crontab }
  await using system = new System(
    Object.fromEntries(Object.entries(scripts).filter(([name]) => tools.includes(name))),
  )
  writeFileSync(system.crontab, '# mine\n')
  const before = treeHash(system.crontab, system.bin)
  const planned = await system.timer('--install-timer', '--dry-run')
  expect([planned.code, planned.envelope().data]).toMatchObject([0, { started_by: startedBy }])
  const { stdout } = await system.stint(['sweep', '--install-timer', '--dry-run'], {
    env: { STINT_OUTPUT: 'text' },
  })
  expect(stdout.includes('17 * * * *')).toBe(startedBy !== 'systemd')
  expect(stdout.includes('OnUnitActiveSec=1h')).toBe(startedBy !== 'cron')
  expect(treeHash(system.crontab, system.bin)).toBe(before)
  expect(existsSync(system.units)).toBe(false)
  expect(system.called().filter((call) => !/show-environment|-l$/.test(call))).toEqual([])
})

test.each([
  [['--install-timer', '--uninstall-timer'], 'exclude each other'],
  [['--install-timer', '--scope', 'sessions'], '--scope'],
  [['--install-timer', '--older-than', '1d'], '--older-than'],
])('stint sweep %j is refused, and nothing is written', async (flags, message) => {
  await using system = new System({ crontab })
  const finished = await system.timer(...flags)
  expect(finished.code).toBe(2)
  expect(finished.envelope()).toMatchObject({
    error: { code: 'ARG_ERROR', message: expect.stringContaining(message) },
  })
  expect(existsSync(system.crontab)).toBe(false)
})

const odd = ['/opt/no de$x/node', '/o"pt/50%/it\'s $HOME\\x', 'sweep']

test('the service quotes what systemd would interpret: blanks, quotes, %, and $ in arguments', () => {
  const lines = serviceUnit(odd, { STINT_TMP_ROOT: '/tmp/a b%' }).split('\n')
  expect(lines).toContain('Environment="STINT_TMP_ROOT=/tmp/a b%%"')
  expect(lines).toContain(`ExecStart="/opt/no de$x/node" "/o\\"pt/50%%/it's $$HOME\\\\x" sweep`)
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
  const line = cronLine([process.execPath, program, '%d', "'"], { OUT: out })
  // cron strips five time fields, ends the command at a bare %, and reads \% as %.
  const command = line.split(' ').slice(5).join(' ')
  expect(command).not.toMatch(/(?<!\\)%/)
  const { code } = await world.start('sh', ['-c', command.replaceAll('\\%', '%')]).finished
  expect(code).toBe(0)
  expect(JSON.parse(readFileSync(out, 'utf8'))).toEqual([program, '%d', "'"])
})

test('a path with a line break is refused: it would add an entry of its own', async () => {
  await using system = new System({ crontab })
  const home = join(system.tmp, 'a\n* * * * * evil')
  const refused = await system.stint(['sweep', '--install-timer'], { env: { STINT_HOME: home } })
  expect([refused.code, refused.envelope().error?.code]).toEqual([4, 'TIMER_UNSUPPORTED'])
  expect(existsSync(system.crontab)).toBe(false)
})
