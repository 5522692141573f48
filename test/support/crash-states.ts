import { createHash } from 'node:crypto'
import { CrashDisk } from './crash-disk.ts'
import { fileImages, type Tearing } from './crash-file-images.ts'
import { DirectoryNode, FileNode, type TreeNode } from './crash-nodes.ts'
import { seeded } from './random.ts'

export interface Bounds extends Tearing {
  /**
   * With up to this many combinations of names and contents, all of them are tried. With more: each choice
   * alone, with the others all lost or all kept, and this many at random.
   */
  combinations: number
}

/** A choice that a crash makes: what a name leads to, or what a file contains. */
interface Choice {
  directory?: DirectoryNode
  name?: string
  file?: FileNode
  /** From the durable one to the one that programs saw last. */
  options: readonly (TreeNode | Buffer | undefined)[]
}

type Decided = Map<Choice, number>

/** The disks that a crash at this moment may leave, within bounds. Everything on them is durable. */
export function* crashStates(disk: CrashDisk, bounds: Bounds): Generator<CrashDisk> {
  const choices = choicesOf(disk.root, bounds)
  for (const decided of decisions(choices, bounds.combinations)) yield after(disk, choices, decided)
}

/** The disk that a crash leaves if every unsynced change is lost. */
export const allLost = (disk: CrashDisk): CrashDisk => {
  const choices = choicesOf(disk.root, { allSubsetsOf: 0, tearEvery: Number.POSITIVE_INFINITY })
  return after(disk, choices, new Map(choices.map((choice) => [choice, 0])))
}

function choicesOf(root: DirectoryNode, tearing: Tearing): Choice[] {
  const [choices, seen] = [[] as Choice[], new Set<TreeNode>()]
  const visit = (node: TreeNode): void => {
    if (seen.has(node)) return
    seen.add(node)
    if (node instanceof FileNode) {
      const options = fileImages(node, tearing)
      if (options.length > 1) choices.push({ file: node, options })
      return
    }
    for (const [name, meanings] of node.pending) {
      const options = [...new Set([node.durable.get(name), ...meanings])]
      if (options.length > 1) choices.push({ directory: node, name, options })
      for (const meaning of options) if (meaning !== undefined) visit(meaning)
    }
    for (const child of node.durable.values()) visit(child)
    for (const child of node.entries.values()) visit(child)
  }
  visit(root)
  return choices
}

function* decisions(choices: readonly Choice[], most: number): Generator<Decided> {
  const all = choices.reduce((product, { options }) => product * options.length, 1)
  if (all <= most) {
    for (let n = 0; n < all; n++) yield decide(choices, n)
    return
  }
  const [lost, kept] = [0, 1].map(
    (end) => new Map(choices.map((choice) => [choice, end * (choice.options.length - 1)])),
  ) as [Decided, Decided]
  for (const base of [lost, kept]) {
    yield base
    for (const choice of choices)
      for (let option = 0; option < choice.options.length; option++)
        if (option !== base.get(choice)) yield new Map(base).set(choice, option)
  }
  const random = seeded(all)
  for (let n = 0; n < most; n++)
    yield new Map(choices.map((choice) => [choice, Math.floor(random() * choice.options.length)]))
}

function decide(choices: readonly Choice[], n: number): Decided {
  const decided: Decided = new Map()
  let rest = n
  for (const choice of choices) {
    decided.set(choice, rest % choice.options.length)
    rest = Math.floor(rest / choice.options.length)
  }
  return decided
}

/** Builds the disk that a crash leaves, given its choices. */
function after({ root }: CrashDisk, choices: readonly Choice[], decided: Decided): CrashDisk {
  const contents = new Map<FileNode, Buffer>()
  const names = new Map<DirectoryNode, Map<string, TreeNode | undefined>>()
  for (const choice of choices) {
    const option = choice.options[decided.get(choice) ?? 0]
    if (choice.file !== undefined) contents.set(choice.file, option as Buffer)
    if (choice.directory === undefined) continue
    const changed = names.get(choice.directory) ?? new Map<string, TreeNode | undefined>()
    names.set(choice.directory, changed.set(choice.name as string, option as TreeNode | undefined))
  }
  const made = new Map<TreeNode, TreeNode>()
  const copy = (node: TreeNode): TreeNode => {
    const known = made.get(node)
    if (known !== undefined) return known
    if (node instanceof FileNode) {
      const content = contents.get(node) ?? (node.durable[0] as Buffer)
      const file = new FileNode(content, [content])
      made.set(node, file)
      return file
    }
    const entries = new Map<string, TreeNode>()
    for (const [name, meaning] of [...node.durable, ...(names.get(node) ?? [])])
      if (meaning === undefined) entries.delete(name)
      else entries.set(name, meaning)
    const directory = new DirectoryNode(new Map([...entries].map(([name, child]) => [name, copy(child)])))
    made.set(node, directory)
    return directory
  }
  return new CrashDisk(copy(root) as DirectoryNode)
}

/** A hash that is equal for two disks if all their names and bytes are. */
export function fingerprint({ root }: CrashDisk): string {
  const print = (node: TreeNode): string => {
    if (node instanceof FileNode) return hashOf(node.content)
    const names = [...node.entries.keys()].sort()
    return `{${names.map((name) => `${name}:${print(node.entries.get(name) as TreeNode)}`).join()}}`
  }
  return createHash('sha1').update(print(root)).digest('base64')
}

const hashes = new WeakMap<Buffer, string>()

function hashOf(content: Buffer): string {
  const known = hashes.get(content) ?? createHash('sha1').update(content).digest('base64')
  hashes.set(content, known)
  return known
}
