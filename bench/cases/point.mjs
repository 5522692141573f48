import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { environment, run } from '../processes.mjs'

const require = createRequire(import.meta.url)

/** A git repository with this many files of about 2 KB, in directories of 50. */
class Tree {
  static #made = new Map()
  #edits = 0

  /** Made once for all benches of this size. */
  static make(parts, files) {
    if (!Tree.#made.has(files)) Tree.#made.set(files, new Tree(parts, files))
    return Tree.#made.get(files)
  }

  constructor({ place, stint }, files) {
    this.place = place
    this.stint = stint
    this.root = join(place.base, `tree-${files}`)
    this.home = join(place.base, 'points-home')
    process.env.STINT_HOME = this.home
    this.points = require(join(dirname(stint.bin), 'commands.cjs')).points
    for (let at = 0; at < files; at += 1) {
      if (at % 50 === 0) mkdirSync(join(this.root, `d${at / 50}`), { recursive: true })
      writeFileSync(this.#file(at), `${`line of file ${at}\n`.repeat(100)}`)
    }
    this.git('init', '-q')
    // A gc in the background would be measured, too.
    this.git('config', 'gc.auto', '0')
    this.git('add', '-A')
    this.git('commit', '-q', '-m', 'files')
  }

  #file(at) {
    return join(this.root, `d${Math.floor(at / 50)}`, `f${at}`)
  }

  git(...args) {
    const identity = {
      GIT_AUTHOR_NAME: 'A',
      GIT_AUTHOR_EMAIL: 'a@b',
      GIT_COMMITTER_NAME: 'A',
      GIT_COMMITTER_EMAIL: 'a@b',
    }
    const env = { ...environment(this.place), ...identity }
    return execFileSync('git', ['-C', this.root, ...args], { encoding: 'utf8', env })
  }

  /** Changes the first files. */
  edit(count) {
    this.#edits += 1
    for (let at = 0; at < count; at += 1) writeFileSync(this.#file(at), `edit ${this.#edits}\n`)
  }

  read() {
    return readFileSync(this.#file(0), 'utf8')
  }

  async point(kind = 'grant') {
    const outcome = await this.points.takePoint({ root: this.root, kind, sessionId: 'bench', fence: 1 })
    assert.equal(outcome.outcome, 'taken')
    return outcome.point
  }
}

async function timeOf(act) {
  const start = process.hrtime.bigint()
  await act()
  return Number(process.hrtime.bigint() - start)
}

/** A point with `edited` changed files, against `git status` after the same edit. */
const pointBench = (files, edited) => ({
  name: `point-${files}-${edited === 0 ? 'same' : 'edit'}`,
  about: `a restore point of ${files} files, ${edited === 0 ? 'none' : edited} changed since the last`,
  unit: 'ms',
  rounds: 20,
  subject: 'stint',
  targets: [{ against: 'git status', atMost: edited === 0 ? 1.5 : 2 }],
  setup: (parts) => Tree.make(parts, files),
  contenders: [
    {
      name: 'stint',
      async check(tree) {
        const before = await tree.point()
        tree.edit(edited)
        const after = await tree.point('end')
        assert.equal(before.tree !== after.tree, edited > 0)
      },
      async run(tree) {
        tree.edit(edited)
        return await timeOf(() => tree.point())
      },
    },
    {
      name: 'git status',
      floor: true,
      check(tree) {
        tree.edit(1)
        assert.match(tree.git('status', '--porcelain'), /^ M d0\/f0$/m)
      },
      run(tree) {
        tree.edit(edited)
        const { start, end } = run(['git', '-C', tree.root, 'status', '--porcelain'], tree.place)
        return Number(end - start)
      },
    },
  ],
})

/** A turn that changes ten files; returns their contents before it. */
async function changeTen(tree) {
  tree.edit(10)
  const before = tree.read()
  await tree.point('grant')
  tree.edit(10)
  await tree.point('end')
  return before
}

const stintUndo = ({ stint, root, place, home }) =>
  run([process.execPath, stint.bin, 'undo', '--yes', '--workspace', root], place, 'ignore', {
    env: { STINT_HOME: home },
  })

const undoBench = {
  name: 'point-undo',
  about: 'undo of a turn that changed 10 of 6500 files, a whole process',
  unit: 'ms',
  rounds: 20,
  subject: 'stint undo',
  targets: [{ against: 'git stash + git stash pop', atMost: 2 }],
  setup: (parts) => Tree.make(parts, 6500),
  contenders: [
    {
      name: 'stint undo',
      async check(tree) {
        const before = await changeTen(tree)
        assert.notEqual(tree.read(), before)
        stintUndo(tree)
        assert.equal(tree.read(), before)
      },
      async run(tree) {
        await changeTen(tree)
        const { start, end } = stintUndo(tree)
        return Number(end - start)
      },
    },
    {
      name: 'git stash + git stash pop',
      floor: true,
      check(tree) {
        tree.edit(10)
        const before = tree.read()
        tree.git('stash', '-q')
        assert.notEqual(tree.read(), before)
        tree.git('stash', 'pop', '-q')
        assert.equal(tree.read(), before)
      },
      async run(tree) {
        tree.edit(10)
        return await timeOf(() => {
          run(
            ['git', '-C', tree.root, '-c', 'user.name=A', '-c', 'user.email=a@b', 'stash', '-q'],
            tree.place,
          )
          run(['git', '-C', tree.root, 'stash', 'pop', '-q'], tree.place)
        })
      },
    },
  ],
}

export default [...[6500, 60_000].flatMap((files) => [pointBench(files, 0), pointBench(files, 1)]), undoBench]
