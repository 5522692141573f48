import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync } from 'node:fs'
import { ancestorsOf, readProcessStat } from '../base/process/platform.ts'
import { ticksNow } from '../base/process/process-table.ts'
import { shellWord, visibleText } from '../base/text/escape.ts'
import type { GitCommand } from './git-command.ts'
import { nothingChanged } from './verdict.ts'

/** A command of git that has perhaps changed files by the time it runs the hook. */
export interface Aftermath {
  /**
   * `refs`: it is about to move HEAD or a branch. `switch`, `files`: it has switched to a commit, or replaced
   * files. `merge`: it is about to commit a merge. `rebase`, `am`: it is about to begin.
   */
  kind: 'refs' | 'switch' | 'files' | 'merge' | 'rebase' | 'am'
  command: GitCommand
  /** The commits before and after a change of a ref, or a switch. */
  before?: string
  after?: string
}

/** Runs git in the workspace; returns its output, or `''` if it fails. */
type AskGit = (...args: string[]) => string

/** Tells what git has changed by now, what can be brought back, with which command, and what cannot. */
export function describeAftermath(
  aftermath: Aftermath,
  workspace: string,
  git: AskGit = askGit(workspace),
): string {
  const { command, before = '', after = '' } = aftermath
  const again = `STINT_BYPASS=1 git -C ${shellWord(visibleText(workspace))}`
  switch (aftermath.kind) {
    case 'am':
      return `No file was changed. git am had only begun; \`${again} am --quit\` ends it.`
    case 'rebase':
      if (!hasAutostash(git)) return nothingChanged
      return `git had already moved the uncommitted changes into an autostash when it asked. \`${again} rebase --quit && ${again} stash pop\` brings them back. Nothing else was changed.`
    case 'merge': {
      const files = split(git('diff', '--cached', '--name-only', '-z', '--no-renames', 'HEAD'))
      return `git had already merged into the files when it asked: ${listed(files)}. It made no commit. \`${again} merge --abort\` takes the merge back; uncommitted changes are kept.`
    }
    case 'switch': {
      const [, from = before, to = after] =
        /moving from (\S+) to (\S+)$/m.exec(git('log', '-g', '-1', '--format=%gs', 'HEAD')) ?? []
      const files = split(git('diff', '--name-only', '-z', '--no-renames', before, after))
      const [left, entered] = [visibleText(from, 200), visibleText(to, 200)]
      return `git had already switched from ${left} to ${entered} when it ran this hook, as it has none before that. ${
        files.length === 0 ? 'No file was changed by it' : `Files that changed: ${listed(files)}`
      }. \`${again} checkout ${shellWord(left)}\` goes back. ${uncommitted(command)}`
    }
    case 'files':
      return describeFiles(command, workspace, git, again)
    case 'refs':
      return describeRefs(command, after.replace(/^ref:/, ''), git, again)
  }
}

/** Describes `git checkout PATH` and `git restore PATH`, which replace files, the index, or both. */
function describeFiles(command: GitCommand, workspace: string, git: AskGit, again: string): string {
  const late = 'when it ran this hook, as it has none before that'
  const change = replacement(command, git)
  if (change === 'unknown')
    return `git may already have replaced files ${late}. Changes in them that were not staged are lost then.`
  if (change === 'index')
    return `git had already changed the index, but no file, ${late}. \`git fsck --lost-found\` finds what had been staged.`
  const withRemoved = change === 'both' ? ['--with-tree=HEAD'] : []
  const named = split(git('ls-files', '--full-name', '-z', ...withRemoved, '--', ...pathsIn(command)))
  const since = gitStartedAt()
  const files = named.filter((file) => (changedAt(`${workspace}/${file}`) ?? since) >= since)
  if (change === 'files from the index' && named.length > 0 && files.length === 0) return nothingChanged
  const had = `git had already replaced files ${late}${files.length === 0 ? '' : `: ${listed(files)}`}.`
  switch (change) {
    case 'files from the index':
      return `${had} The index is as before, and the files are as it has them: only changes in them that were not staged are lost, and cannot be brought back.`
    case 'files':
      return `${had} ${restoring(files, again, '--worktree')} Changes in them that were not staged are lost, and cannot be brought back.`
    case 'both':
      return `${had} ${restoring(files, again, '--source=HEAD --staged --worktree')} ${lost}`
  }
}

/** What `checkout` or `restore` with paths replaces. Only `both` loses what was staged in the files. */
function replacement(
  { name, args }: GitCommand,
  git: AskGit,
): 'files from the index' | 'files' | 'index' | 'both' | 'unknown' {
  const end = args.indexOf('--')
  const words = end >= 0 ? args.slice(0, end) : args
  if (name === 'checkout') {
    const first = words.find((word) => word === '-' || !word.startsWith('-')) ?? ''
    const tree = first === '-' ? '@{-1}' : first
    const isTree = tree !== '' && git('rev-parse', '--verify', '--quiet', `${tree}^{tree}`) !== ''
    return isTree ? 'both' : 'files from the index'
  }
  if (name !== 'restore') return 'unknown'
  const has = (option: RegExp): boolean => words.some((word) => option.test(word))
  // git takes long options in a shorter form, too; behind `-s` the rest of the word is its value.
  if (has(/^(?:--st|-[^-s]*S)/)) return has(/^(?:--w|-[^-s]*W)/) ? 'both' : 'index'
  return has(/^(?:--so|-[^-]*s)/) ? 'files' : 'files from the index'
}

/** The wall time at which the git that runs this hook started, in milliseconds; 0 where it is not known. */
function gitStartedAt(): number {
  const git = [...ancestorsOf(process.ppid)].find(({ name }) => name === 'git')
  const started = git && readProcessStat(git.pid)?.started
  const now = ticksNow()
  if (started === undefined || now === undefined || started > now) return 0
  // A tick is 10 ms, and the clock of a file system may lag by another one.
  return Date.now() - (now - started + 2) * 10
}

/** When the content or the inode of a file last changed; undefined if there is no such file. */
const changedAt = (path: string): number | undefined => lstatSync(path, { throwIfNoEntry: false })?.ctimeMs

function describeRefs(command: GitCommand, target: string, git: AskGit, again: string): string {
  const differing = (...args: string[]): string[] =>
    split(git('diff', '--name-only', '-z', '--no-renames', ...args))
  const concerned = new Set(differing('HEAD', target))
  const files = differing('HEAD').filter((file) => concerned.has(file))
  const staged = differing('--cached', 'HEAD').filter((file) => concerned.has(file))
  const which = files.length > 0 ? files : staged
  const isUnknown = command.name === ''
  if (which.length === 0 && !discards(command))
    return isUnknown
      ? 'HEAD and the branches are as before; `git status` shows whether git had already changed files.'
      : nothingChanged
  const had = isUnknown ? 'may already have changed' : 'had already changed'
  const ending = ended.has(command.name) ? ` \`${again} ${command.name} --quit\` ends it.` : ''
  const [what, place] =
    files.length > 0
      ? ['files', '--source=HEAD --staged --worktree']
      : ['the index, but no file,', '--source=HEAD --staged']
  return [
    which.length === 0
      ? 'git had already put the files back to their commit when it asked.'
      : `git ${had} ${what} when it asked: ${listed(which)}. HEAD and the branches are as before. ${restoring(which, again, place, target)}${ending}`,
    hasAutostash(git)
      ? `Uncommitted changes are in the stash then: \`${again} stash pop\` brings them back.`
      : uncommitted(command),
  ].join(' ')
}

/** Commands that leave a state behind when git refuses the change of a ref. */
const ended = new Set(['cherry-pick', 'rebase'])

const lost =
  'Uncommitted changes in them, if any, are lost: `git fsck --lost-found` finds what had been staged, and the rest cannot be brought back.'

const uncommitted = (command: GitCommand): string =>
  discards(command)
    ? 'Uncommitted changes in this workspace, if any, are lost: `git fsck --lost-found` finds what had been staged, and the rest cannot be brought back.'
    : 'Uncommitted changes in other files are not concerned.'

/** True if the command can throw uncommitted changes away. git takes `--hard` in any shorter form, too. */
const discards = ({ name, args }: GitCommand): boolean => {
  const option =
    name === 'checkout' || name === 'switch' ? /^(?:--for|--disc|-[a-zA-Z]*f)/ : /^--(?:ha|me|ab|sk)/
  return args.some((word) => option.test(word))
}

/** The command that brings back the files as HEAD or the index has them, and touches no others. */
function restoring(files: readonly string[], again: string, options: string, target = ''): string {
  const restore = `restore ${options}`
  const isPlain = files.length > 0 && files.length <= 5 && files.every((file) => visibleText(file) === file)
  const line =
    isPlain || target === ''
      ? `${again} ${restore} -- ${isPlain ? files.map(shellWord).join(' ') : 'FILE…'}`
      : `${again} diff --name-only -z --no-renames HEAD ${shellWord(visibleText(target, 200))} | ${again} ${restore} --pathspec-from-file=- --pathspec-file-nul`
  return `\`${line}\` brings back what ${options.includes('HEAD') ? 'HEAD' : 'the index'} has of them.`
}

const listed = (files: readonly string[]): string => {
  const shown = files.slice(0, 10).map((file) => visibleText(file, 200))
  return files.length > 10 ? `${shown.join(', ')} and ${files.length - 10} more` : shown.join(', ')
}

/** The paths in the command line of `checkout` or `restore`, or what may be one. */
function pathsIn({ args }: GitCommand): string[] {
  const at = args.indexOf('--')
  return at >= 0 ? args.slice(at + 1) : args.filter((word) => !word.startsWith('-'))
}

/** True if a rebase has moved uncommitted changes into a stash. */
const hasAutostash = (git: AskGit): boolean =>
  ['rebase-merge/autostash', 'rebase-apply/autostash'].some((name) =>
    existsSync(git('rev-parse', '--path-format=absolute', '--git-path', name).trim()),
  )

const split = (text: string): string[] => text.split('\0').filter((name) => name !== '')

/** Asks git with the variables that it has set for its hook, in the directory from which it was called. */
const askGit =
  (workspace: string): AskGit =>
  (...args) => {
    const { status, stdout } = spawnSync('git', args, {
      cwd: args[0] === 'ls-files' ? `${workspace}/${process.env.GIT_PREFIX ?? ''}` : workspace,
      env: { ...process.env, GIT_OPTIONAL_LOCKS: '0' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 10_000,
    })
    return status === 0 ? stdout : ''
  }
