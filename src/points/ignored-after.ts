import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { bytePath, latin1Of } from '../base/fs/paths.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { ulid } from '../base/text/id.ts'
import { gitFailure, joinNul, runGit, splitNul } from './git.ts'
import type { PointStore } from './store.ts'
import { readBlobs } from './tree-diff.ts'
import { type FileChange, parentsOf, type UndoPlan } from './undo-plan.ts'

/**
 * Takes the deletions of ignored files out of a plan: what the resulting `.gitignore` files ignore was there
 * before the change set, perhaps, and no point has its contents.
 */
export async function keepIgnored(store: PointStore, plan: UndoPlan): Promise<UndoPlan> {
  const deletions = plan.changes.filter(({ to }) => to === undefined)
  if (deletions.length === 0) return plan
  const ignored = new Set(await ignoredPaths(store, plan.changes, deletions))
  return {
    ...plan,
    changes: plan.changes.filter(({ path, to }) => to !== undefined || !ignored.has(path)),
    kept: [...ignored],
  }
}

async function ignoredPaths(
  store: PointStore,
  changes: readonly FileChange[],
  deletions: readonly FileChange[],
): Promise<string[]> {
  const rules = changes.filter(({ path }) => /(^|\/)\.gitignore$/.test(path))
  const directory = store.file(`ignored-${ulid()}`)
  try {
    await makeRules(store, directory, rules, deletions)
    return await checkIgnore(store, directory, deletions)
  } finally {
    ifPossible(() => rmSync(directory, { recursive: true, force: true }))
  }
}

async function checkIgnore(
  store: PointStore,
  worktree: string,
  deletions: readonly FileChange[],
): Promise<string[]> {
  const args = ['check-ignore', '--no-index', '-z', '--stdin']
  // This command takes no literal pathspecs; behind `./` no name is a pattern.
  const env = { ...store.gitEnvironment(), GIT_WORK_TREE: worktree, GIT_LITERAL_PATHSPECS: '0' }
  const input = joinNul(deletions.map(({ path }) => `./${path}`))
  const exit = await runGit(args, { cwd: worktree, env, input, deadline: store.deadline })
  // 1 means that none is ignored.
  if (exit.code !== 0 && exit.code !== 1) throw gitFailure(args, exit)
  return splitNul(exit.stdout).map((path) => path.slice(2))
}

/** Makes a directory with the `.gitignore` files that decide about these paths, as they will be. */
async function makeRules(
  store: PointStore,
  directory: string,
  rules: readonly FileChange[],
  deletions: readonly FileChange[],
): Promise<void> {
  const planned = new Map(rules.map(({ path, to }) => [path, to?.oid]))
  const blobs = await readBlobs(
    store,
    [...planned.values()].filter((oid) => oid !== undefined),
  )
  mkdirSync(directory, { mode: 0o700 })
  const parents = new Set(deletions.flatMap(({ path }) => parentsOf(path)))
  const [top, root] = [latin1Of(directory), latin1Of(store.root)]
  for (const path of ['.gitignore', ...[...parents].map((parent) => `${parent}/.gitignore`)]) {
    const oid = planned.get(path)
    const onDisk = (): string | undefined =>
      ifPossible(() => readSmallFile(bytePath(`${root}/${path}`) as string))
    const text = planned.has(path) ? oid && blobs.get(oid) : onDisk()
    if (text === undefined) continue
    mkdirSync(bytePath(`${top}/${dirname(path)}`), { recursive: true, mode: 0o700 })
    writeFileSync(bytePath(`${top}/${path}`), text, { mode: 0o600 })
  }
}
