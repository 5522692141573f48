import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { HookUser } from '../../../test/support/hook-user.ts'
import { readIfThere } from '../../../test/support/read-if-there.ts'
import { type Finished, projectRoot } from '../../../test/support/world.ts'
import { acquireLease, homeStore } from '../../lease/index.ts'

/**
 * The commands of the table in docs/git-guard.md, each with a preparation by another command if it needs one.
 * `a.txt` differs between the commits, `b.txt` has uncommitted changes, `u.txt` is untracked, and only the
 * branch `other` has `o.txt`.
 */
const commands: Readonly<Record<string, string>> = {
  'git commit -a -m x': '',
  'git commit --no-verify -a -m x': '',
  'git reset --soft HEAD~1': '',
  'git reset HEAD~1': '',
  'git reset --hard HEAD~1': '',
  'git merge ahead': '',
  'git merge --no-edit other': '',
  'git merge --squash other': '',
  'git pull --no-rebase origin ahead': '',
  'git rebase other': 'git checkout b.txt',
  'git rebase --autostash other': '',
  'git rebase --no-verify --autostash other': '',
  'git checkout -b new': '',
  'git checkout -b new other': '',
  'git checkout other': '',
  'git switch other': '',
  'git checkout --detach HEAD~1': '',
  'git checkout HEAD~1 -- a.txt': '',
  'git restore b.txt': '',
  'git clean -fd': '',
  'git stash': '',
  'git stash pop': 'git stash',
  'git stash apply': 'git stash',
  'git stash clear': 'git stash',
  'git cherry-pick other': '',
  'git cherry-pick -n other': '',
  'git revert --no-edit HEAD': '',
  'git revert -n HEAD': '',
  'git read-tree -m -u other': 'git checkout b.txt',
  'git am other.patch': '',
  'git apply other.patch': '',
  'git push origin main:new': '',
  'git tag v2': '',
  'git branch new': '',
  'git branch -f other': '',
  'git branch -D other': '',
  'git update-ref refs/heads/other HEAD': '',
  'git worktree add ../linked': '',
  'git worktree add --detach ../linked': '',
  'git worktree add -B other ../linked': '',
  'git clone -q . ../clone': '',
  'git init -q ../new': '',
  'git rm -q a.txt': '',
  'git mv a.txt c.txt': '',
  'git add u.txt': '',
  'git gc -q': '',
  'git fetch origin': '',
  'git config user.name x': '',
}

const setUp = `
git init -q -b main . && git config user.name t && git config user.email t@example.org
echo 1 >a.txt && echo 1 >b.txt && echo '*.patch' >.gitignore && git add . && git commit -qm one
echo 2 >a.txt && git commit -qam two
git checkout -qb other HEAD~1 && echo o >o.txt && git add o.txt && git commit -qm other
git format-patch -q --stdout -1 >other.patch
git checkout -qb ahead main && echo 3 >a.txt && git commit -qam ahead && git checkout -q main
git clone -q --bare . ../origin.git && git remote add origin ../origin.git && git fetch -q origin
echo dirty >>b.txt && echo new >u.txt`

/** A user who holds nothing, and copies of a repository with the guard that another session holds. */
class Repositories extends HookUser {
  constructor() {
    super()
    Object.assign(this.env, { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' })
    this.sh(setUp, this.project)
  }

  sh(line: string, cwd: string): string {
    const env = { ...this.env, STINT_BYPASS: '1' }
    return execFileSync('sh', ['-ec', line], {
      cwd,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  /** A copy of the repository, held by another session. */
  async copy(index: number, prepare: string): Promise<string> {
    const directory = join(this.tmp, `copy-${index}`)
    mkdirSync(directory)
    cpSync(this.project, join(directory, 'work'), { recursive: true, preserveTimestamps: true })
    cpSync(join(this.tmp, 'origin.git'), join(directory, 'origin.git'), { recursive: true })
    const repository = join(directory, 'work')
    this.sh(`git update-index -q --refresh || :\n${prepare}`, repository)
    await acquireLease({
      workspace: repository,
      sessionId: 'holder',
      pid: null,
      purpose: 'a refactoring',
      store: homeStore(this.env),
    })
    return repository
  }

  run(line: string, cwd: string, path = this.env.PATH): Promise<Finished> {
    const [program = '', ...args] = line.split(' ')
    return this.start(program, args, { cwd, env: { PATH: path } }).finished
  }

  /** Everything that a command could change: files, index, refs of both repositories, configuration. */
  state(repository: string): Record<string, string> {
    const files = readdirSync(repository).filter((name) => name !== '.git')
    const [index, ...refs] = this.sh(
      `git ls-files -s; echo '#'; cat .git/HEAD; git for-each-ref; git -C ../origin.git for-each-ref`,
      repository,
    ).split('#')
    return {
      ...Object.fromEntries(
        files.map((name) => [`\`${name}\``, readFileSync(join(repository, name), 'utf8')]),
      ),
      'the index': index ?? '',
      refs: [...refs, readIfThere(join(repository, '.git/logs/refs/stash'))].join('#'),
      configuration: readFileSync(join(repository, '.git/config'), 'utf8'),
    }
  }
}

const differences = (before: Record<string, string>, after: Record<string, string>): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((key) => before[key] !== after[key])
    .sort()

/** The cell of the table: what the user was told, and whether that came before anything had changed. */
function outcome({ code, stderr }: Finished, changed: readonly string[]): string {
  if (!stderr.includes('parallel session lock held by holder')) return 'not seen'
  const files = changed.filter((name) => name.startsWith('`'))
  const what = files.length > 0 ? files : changed
  if (code === 0) return `told after: ${what.join(', ')}`
  return changed.length === 0 ? 'refused before' : `refused after: ${what.join(', ')}`
}

test(
  'the table in docs/git-guard.md says when the guard refuses each command, and the shim refuses all before',
  { timeout: 240_000 },
  async () => {
    await using world = new Repositories()
    await world.change('install', 'git')
    const [shim] = await world.change('install', 'git', '--shim')
    const shimmed = `${dirname(shim?.path ?? '')}:${world.env.PATH}`
    let unprepared: Record<string, string> | undefined
    const rows = Object.entries(commands).map(async ([command, prepare], index) => {
      const behindShim = await world.copy(index, prepare)
      const before = prepare === '' ? (unprepared ??= world.state(behindShim)) : world.state(behindShim)
      const atShim = await world.run(command, behindShim, shimmed)
      const withShim = outcome(atShim, differences(before, world.state(behindShim)))
      const passes = withShim === 'not seen'
      const repository = passes ? await world.copy(index + 1000, prepare) : behindShim
      const finished = await world.run(command, repository)
      const changed = differences(before, world.state(repository))
      const cell = outcome(finished, changed)
      if (passes) {
        expect([atShim.code, finished.code, cell], command).toEqual([0, 0, 'not seen'])
        return `| \`${command}\` | passes |`
      }
      // The message never reads as if nothing had happened although git has changed something.
      const { stderr: message } = finished
      const pointsAtStatus = message.includes('`git status` shows what git has changed already.')
      if (cell !== 'not seen') expect(message.includes('Nothing was changed.'), command).toBe(!pointsAtStatus)
      if (changed.length > 0 && cell !== 'not seen') expect(pointsAtStatus, command).toBe(true)
      expect(withShim, `${command}, with the shim`).toBe('refused before')
      return `| \`${command}\` | ${cell} |`
    })
    const page = readFileSync(join(projectRoot, 'docs/git-guard.md'), 'utf8')
    const [, section = ''] = page.split('## What the guard sees\n')
    const table = section.split('\n').filter((line) => line.startsWith('| `git'))
    expect(table).toEqual(await Promise.all(rows))
  },
)
