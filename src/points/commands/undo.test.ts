import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Terminal } from '../../../test/support/terminal.ts'
import { projectRoot, stintBin, World } from '../../../test/support/world.ts'

test('the scene of the page about undo works as it is written', async () => {
  await using world = new World({ STINT_OUTPUT: '' })
  const page = readFileSync(join(projectRoot, 'docs/undo.md'), 'utf8')
  const [, scene = ''] = /```console\n(.*?)```/s.exec(page) ?? []
  const commands = scene.split('\n').filter((line) => line.startsWith('$ '))
  const script = commands.map((line) => line.slice(2)).join('\n')
  const stint = `stint() { '${process.execPath}' '${stintBin}' "$@"; }`
  const finished = await world.start('sh', ['-ec', `${stint}\n${script}`], { cwd: world.tmp }).finished
  expect(finished.stderr).toBe('')
  expect(finished.code).toBe(0)
  const shown = scene.split('\n').filter((line) => line !== '' && !line.startsWith('$ '))
  expect(finished.stdout).toContain(`\n${shown.join('\n')}\n`)
})

interface Described {
  id: string
  take_back: string | null
  files: { path: string }[]
}

/** A worktree in which a session has changed a file under `stint run --lock`. */
async function changedWorktree() {
  const world = new World()
  const repo = join(world.tmp, 'repo')
  const stint = async (...args: string[]): Promise<Described> =>
    (await world.stint(args, { cwd: repo })).envelope().data as unknown as Described
  const read = (): string => readFileSync(join(repo, 'a.txt'), 'utf8')
  mkdirSync(repo)
  execFileSync('git', ['init', '-q', repo])
  writeFileSync(join(repo, 'a.txt'), 'a\n')
  await world.stint(['run', '--lock', '--session', 'first', '--', 'sh', '-c', 'echo b > a.txt'], {
    cwd: repo,
  })
  return { world, repo, stint, read }
}

test('undo and redo name the command that takes them back, and that command does', async () => {
  const { world, stint, read } = await changedWorktree()
  await using _ = world
  let told = (await stint('undo', '--yes')).take_back
  expect([told, read()]).toEqual(['stint redo', 'a\n'])
  for (const content of ['b\n', 'a\n', 'b\n']) {
    const { id, take_back } = await stint(...(told ?? '').split(' ').slice(1), '--yes')
    expect(read()).toBe(content)
    expect(take_back).toBe(content === 'b\n' ? `stint undo ${id}` : 'stint redo')
    told = take_back
  }
})

test('the activity log has each undo, and so has the audit log of a recorded session', async () => {
  const { world, repo, stint } = await changedWorktree()
  await using _ = world
  await world.stint(['run', '--lock', '--session', 'kept', '--record', '--', 'sh', '-c', 'echo c > a.txt'], {
    cwd: repo,
  })
  await stint('undo', 'kept', '--yes')
  const { stdout: activity } = await world.stint(['lock', 'history', '--json'], { cwd: repo })
  expect(activity).toContain('stint undo')
  const { stdout: audit } = await world.stint(['audit', 'show', 'kept', '--json'], { cwd: repo })
  expect(audit).toContain('"action":"undo"')
})

test('a diff of more paths than a command line can have is shown, whole and as a list', async () => {
  const { world, repo } = await changedWorktree()
  await using _ = world
  const directory = Array.from({ length: 14 }, () => 'd'.repeat(250)).join('/')
  const script = `mkdir -p ${directory}; cd ${directory}; touch $(seq 700)`
  const run = ['run', '--lock', '--session', 'many', '--', 'sh', '-c', script]
  expect((await world.stint(run, { cwd: repo })).code).toBe(0)
  const { code, stdout } = await world.stint(['diff', 'many', '--stat'], {
    cwd: repo,
    env: { STINT_OUTPUT: 'text' },
  })
  expect([code, stdout.split('\n').at(-2)]).toEqual([0, expect.stringContaining('700 files changed')])
})

test('an undo names the files of which no contents are kept', async () => {
  const { world, repo } = await changedWorktree()
  await using _ = world
  const script = 'echo c > a.txt; mkdir sub; git init -q sub; head -c 11000000 /dev/zero > large'
  await world.stint(['run', '--lock', '--session', 'second', '--', 'sh', '-c', script], { cwd: repo })
  const { stdout } = await world.stint(['undo', '--yes'], { cwd: repo, env: { STINT_OUTPUT: 'text' } })
  expect(stdout).toContain(
    'not kept by restore points, and stays: sub/ (another repository), large (over 10 MiB and untracked)',
  )
})

test('on a terminal a diff has colours and the pager of git, and an undo shows its files and asks', async () => {
  const { world, repo, read } = await changedWorktree()
  await using _ = world
  world.env.STINT_OUTPUT = ''
  await using terminal = await Terminal.open(world)
  terminal.enter(`cd ${repo}; clear`)
  terminal.enter("GIT_PAGER='sed -n l' stint diff first")
  await terminal.shows(/\\033\[32m\+\\033\[m\\033\[32mb/)
  terminal.enter('clear; stint undo')
  await terminal.shows(/^ {2}a\.txt: changed back\nWrite 1 file in .*\?/m)
  terminal.enter('n')
  await terminal.shows(/Nothing was changed\.\n\[1\] ready>$/)
  expect(read()).toBe('b\n')
  terminal.enter('clear; stint undo')
  await terminal.shows(/Write 1 file/)
  terminal.enter('y')
  await terminal.shows(/wrote 1 file\n`stint redo` takes this back\n\[0\] ready>$/)
  expect(read()).toBe('a\n')
})
