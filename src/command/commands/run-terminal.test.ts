import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readIfThere } from '../../../test/support/read-if-there.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { isRunning, isStopped, until, World } from '../../../test/support/world.ts'

const write = (world: World, name: string, ...lines: string[]): void =>
  writeFileSync(join(world.tmp, name), `${lines.join('\n')}\n`)

/** The pids that a program has written to this file in one line. */
async function pidsIn(world: World, name: string): Promise<number[]> {
  let line = ''
  await until(`there are pids in ${name}`, () => (line = readIfThere(join(world.tmp, name))).endsWith('\n'))
  return line.trim().split(' ').map(Number)
}

const isClean = (world: World): boolean =>
  world.leftovers().length === 0 && readdirSync(join(world.root, 'trash')).every((name) => name === '.swept')

const processGroup = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[2])

test('a full-screen program draws, reads keys, follows the window size and restores the terminal', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  write(
    world,
    'draw.py',
    'import curses',
    'def main(window):',
    '    key = "nothing"',
    '    while key != "q":',
    '        rows, columns = window.getmaxyx()',
    '        window.erase()',
    '        window.addstr(2, 4, f"{key} was pressed in {columns}x{rows}")',
    '        window.refresh()',
    '        key = window.getkey()',
    'curses.wrapper(main)',
    'raise SystemExit(4)',
  )
  const modes = terminal.modes()
  terminal.enter('stint run -- python3 draw.py')
  await terminal.shows(/^ {4}nothing was pressed in 80x24$/m)
  expect(terminal.isAlternate()).toBe(true)
  expect(terminal.modes()).not.toBe(modes)
  terminal.press('x')
  await terminal.shows(/^ {4}x was pressed in 80x24$/m)
  terminal.resize(100, 30)
  await terminal.shows(/^ {4}KEY_RESIZE was pressed in 100x30$/m)
  terminal.press('q')
  await terminal.shows(/\[0\] ready> stint run -- python3 draw\.py\n\[4\] ready>$/)
  expect(terminal.isAlternate()).toBe(false)
  expect(terminal.modes()).toBe(modes)
  expect(world.leftovers()).toEqual([])
})

test('a Python prompt survives Ctrl-C, idle and busy, and ends with its own exit code', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.enter('stint run -- python3 -q -i')
  await terminal.shows(/^>>>$/m)
  terminal.press('C-c')
  await terminal.shows(/KeyboardInterrupt\n>>>$/)
  terminal.enter('import time; print("bu" + "sy"); time.sleep(300)')
  await terminal.shows(/^busy$/m)
  terminal.press('C-c')
  await terminal.shows(/busy\n[^]*KeyboardInterrupt\n>>>$/)
  terminal.enter('print(6*7)')
  await terminal.shows(/^42\n>>>$/m)
  // Not exit(5): Python 3.13.0 exits with 1 then, with or without stint.
  terminal.enter('import os; os._exit(5)')
  await terminal.shows(/^\[5\] ready>$/m)
  expect(world.leftovers()).toEqual([])
})

test('a pager at the end of a pipeline reads its keys from the terminal', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  mkdirSync(join(world.tmp, 'many'))
  for (let n = 100; n < 200; n++) write(world, `many/file-${n}`)
  // If it could not open /dev/tty, less would read keys from stderr.
  terminal.enter('ls many | stint run -- less 2> errors')
  await terminal.shows(/^file-100\nfile-101\n[^]*\n:$/)
  terminal.press('G')
  await terminal.shows(/^file-198\nfile-199\n\(END\)$/m)
  expect(world.leftovers()).toHaveLength(1)
  terminal.press('q')
  await terminal.shows(/^\[0\] ready> ls .*\n\[0\] ready>$/)
  expect(world.leftovers()).toEqual([])
})

/** A script with a background job, and in the foreground a run whose program has a child. */
async function startScript(world: World, terminal: Terminal) {
  write(
    world,
    'script.sh',
    'sleep 300 &',
    'echo $! > other',
    `stint run -- sh -c 'sleep 300 & echo $PPID $$ $! > run; wait'`,
    'echo "the script goes on after $?"',
    'read line',
    'kill "$(cat other)"',
    'exit 6',
  )
  terminal.enter('sh script.sh')
  const [other = 0] = await pidsIn(world, 'other')
  const [stint = 0, ...program] = await pidsIn(world, 'run')
  expect(program.map(processGroup)).toEqual([processGroup(other), processGroup(other)])
  expect(world.leftovers()).toHaveLength(1)
  return { stint, program, other }
}

test('after SIGKILL of stint, the script that called it lives on, and nothing of the run is left', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  const { stint, program, other } = await startScript(world, terminal)
  process.kill(stint, 'SIGKILL')
  await terminal.shows(/^the script goes on after 137$/m)
  await until('the program is gone', () => !program.some(isRunning))
  await until('the scratch is gone, from the trash too', () => isClean(world))
  expect(isRunning(other)).toBe(true)
  terminal.enter('')
  await terminal.shows(/^\[6\] ready>$/m)
})

test('SIGTERM to stint ends its program, but not the script in the same process group', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  const { stint, program, other } = await startScript(world, terminal)
  process.kill(stint, 'SIGTERM')
  await terminal.shows(/^the script goes on after 143$/m)
  expect(program.filter(isRunning)).toEqual([])
  expect(world.leftovers()).toEqual([])
  expect(isRunning(other)).toBe(true)
  terminal.enter('')
  await terminal.shows(/^\[6\] ready>$/m)
})

test.each(['sh -i', 'bash --norc -i'])(
  'under `%s`, Ctrl-Z stops a run, fg continues it, and it ends as usual',
  async (shell) => {
    await using world = new World()
    await using terminal = await Terminal.open(world, shell.split(' '))
    write(
      world,
      'ask.sh',
      'echo $PPID $$ > run',
      'echo "your name?"',
      'read name',
      'echo "hello, $name"',
      'exit 3',
    )
    terminal.enter('stint run -- sh ask.sh')
    const run = await pidsIn(world, 'run')
    await terminal.shows(/^your name\?$/m)
    terminal.press('C-z')
    await terminal.shows(/Stopped.*\n\[148\] ready>$/)
    await until('stint and its program are stopped', () => run.every(isStopped))
    terminal.enter('fg')
    await until('both continue', () => !run.some(isStopped))
    terminal.enter('Ada')
    await terminal.shows(/^hello, Ada\n\[3\] ready>$/m)
    expect(world.leftovers()).toEqual([])
  },
)

test.each([
  ['C-c', 130],
  ['C-\\', 131],
])('a program that dies of %s gives the shell %i', async (key, code) => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.enter(`stint run -- sh -c 'echo $$ > run; exec sleep 300'`)
  const program = await pidsIn(world, 'run')
  expect(world.leftovers()).toHaveLength(1)
  terminal.press(key)
  await terminal.shows(new RegExp(String.raw`\[${code}\] ready>$`))
  expect(program.filter(isRunning)).toEqual([])
  expect(world.leftovers()).toEqual([])
})

/** Closes the window, and waits until the processes of the run and its scratch are gone. */
async function endsWithWindow(world: World, terminal: Terminal, run: readonly number[]): Promise<void> {
  terminal.hangUp()
  await until('stint and its program are gone', () => !run.some(isRunning))
  await until('the scratch is gone, from the trash too', () => isClean(world))
}

test('closing the window ends the run, even if its program ignores the signal', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.enter(`stint run --grace 100ms -- sh -c 'trap "" HUP; echo $PPID $$ > run; exec sleep 300'`)
  const run = await pidsIn(world, 'run')
  expect(world.leftovers()).toHaveLength(1)
  await endsWithWindow(world, terminal, run)
})

test('closing the window ends a stopped run, too', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.enter(`stint run -- sh -c 'echo $PPID $$ > run; exec sleep 300'`)
  const run = await pidsIn(world, 'run')
  terminal.press('C-z')
  await until('stint and its program are stopped', () => run.every(isStopped))
  expect(world.leftovers()).toHaveLength(1)
  await endsWithWindow(world, terminal, run)
})

test('terminal modes that a program sets outlast the run', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  const modes = terminal.modes()
  terminal.enter('stint run -- sh -c "stty -echo; exit 3"')
  await terminal.shows(/^\[3\] ready>$/m)
  expect(terminal.modes()).not.toBe(modes)
})

test('a run that ends in the background does not touch the terminal of the foreground program', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.enter(`stint run -- sh -c 'echo $PPID > run; until [ -e go ]; do sleep 0.01; done' &`)
  const [stint = 0] = await pidsIn(world, 'run')
  terminal.enter('seq 100 > numbers; less numbers')
  await terminal.shows(/^1\n2\n[^]*\nnumbers$/)
  const modes = terminal.modes()
  write(world, 'go')
  await until('the run has ended', () => !isRunning(stint))
  expect(terminal.modes()).toBe(modes)
  terminal.press('q')
  await terminal.shows(/\[0\] ready>$/)
})

test('after Ctrl-Z the shell gets the terminal only when the program has restored its modes', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  write(
    world,
    'slow.py',
    'import os, signal, sys, termios, time, tty',
    'before = termios.tcgetattr(0)',
    'def stop(*_):',
    '    print("stopping", flush=True)',
    '    while not os.path.exists("go"): time.sleep(0.01)',
    '    termios.tcsetattr(0, termios.TCSANOW, before)',
    '    print("restored", flush=True)',
    '    os.kill(os.getpid(), signal.SIGSTOP)',
    'signal.signal(signal.SIGTSTP, stop)',
    'tty.setcbreak(0)',
    'print("drawn", flush=True)',
    'while not sys.stdin.readline(): pass',
    'raise SystemExit(3)',
  )
  const modes = terminal.modes()
  terminal.enter('stint run -- python3 slow.py')
  await terminal.shows(/^drawn$/m)
  terminal.press('C-z')
  await terminal.shows(/^stopping$/m)
  write(world, 'go')
  await terminal.shows(/restored\n[^]*Stopped.*\n\[14\d\] ready>$/)
  expect(terminal.modes()).toBe(modes)
  terminal.enter('fg')
  await terminal.shows(/fg\nstint run -- python3 slow\.py$/)
  terminal.enter('')
  await terminal.shows(/^\[3\] ready>$/m)
})

test.each(['sh', 'bash'])('Ctrl-C ends a %s script whose program died of it', async (shell) => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  write(world, 'script.sh', `stint run -- sh -c 'echo started; exec sleep 300'`, 'echo "not here"')
  terminal.enter(`${shell} script.sh`)
  await terminal.shows(/^started$/m)
  terminal.press('C-c')
  await terminal.shows(/\^C\s+\[130\] ready>$/)
  expect(terminal.screen()).not.toContain('not here')
  await until('the run is over', () => isClean(world))
})

test('on a terminal, too, SIGUSR1 and SIGUSR2 go to the program, and SIGUSR1 opens no debugger', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  for (const signal of ['USR1', 'USR2']) {
    write(
      world,
      'script.sh',
      `trap 'echo heard ${signal}; exit 6' ${signal}`,
      `kill -${signal} $PPID`,
      'while :; do sleep 0.01; done',
    )
    terminal.enter('stint run -- sh script.sh')
    await terminal.shows(new RegExp(`^heard ${signal}\\n\\[6\\] ready>$`, 'm'))
  }
  expect(terminal.screen()).not.toContain('Debugger')
})
