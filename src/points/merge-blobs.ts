import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { createPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { ulid } from '../base/text/id.ts'
import { gitFailure, runGit } from './git.ts'
import type { PointStore } from './store.ts'
import { readBlobs } from './tree-diff.ts'
import type { Merge } from './undo-plan.ts'

/** Larger contents are not merged: a conflict that is named beats minutes of waiting. */
const maxMergedBytes = 20 << 20

/** Merges contents of a store with `git merge-file`, and keeps the result in the store. */
export const mergeBlobs =
  (store: PointStore): Merge =>
  async (present, after, before) => {
    const blobs = await readBlobs(store, [present, after, before])
    if ([...blobs.values()].some(({ length }) => length > maxMergedBytes)) return undefined
    const directory = store.file(`merge-${ulid()}`)
    makePrivateDirectories(directory)
    try {
      const files = [present, after, before].map((oid, index) => {
        const file = join(directory, String(index))
        createPrivateFile(file, blobs.get(oid) ?? '')
        return file
      })
      const args = ['merge-file', '-p', '-q', ...files]
      const exit = await runGit(args, { env: store.gitEnvironment(), deadline: store.deadline })
      // The exit code is the number of conflicts; 255 is an error, such as contents that are not text.
      if (exit.code === null) throw gitFailure(args, exit)
      if (exit.code !== 0) return undefined
      const written = await store.git(['hash-object', '-w', '--stdin'], { input: exit.stdout })
      return written.toString().trim()
    } finally {
      ifPossible(() => rmSync(directory, { recursive: true, force: true }))
    }
  }
