import type { RegisterFiles } from '../../src/lease/file-register.ts'

/** The directory of one key, in memory: every call is atomic, as on a local file system. */
export interface Directory {
  isThere: boolean
  /** The epochs, the lowest first. Staged files are left out: no other writer ever looks at one. */
  epochs: readonly Epoch[]
  /** The highest epoch that ever existed. */
  top: number
}

type Epoch = readonly [epoch: number, text: string]

export type Answer = { value: unknown } | { error: string }

/** A call of the register, by the last part of its path. */
export interface Call {
  call: Exclude<keyof RegisterFiles, never>
  name: string
  /** The contents of a file that gets a name. */
  text?: string
}

export interface Effect {
  answer: Answer
  after: Directory
  /** The call created an epoch above all earlier ones, which makes it the current one. */
  onTop: boolean
}

export const emptyDirectory: Directory = { isThere: false, epochs: [], top: 0 }

/** Marks a text that was not on top when it got its name, so was never current. */
const stray = 'stray '
export const isStray = (text: string | undefined): boolean => text?.startsWith(stray) === true

/** The epoch that counts. */
export const currentOf = ({ epochs }: Directory): Epoch => epochs.at(-1) ?? [0, '']

export function carryOut({ call, name, text = '' }: Call, directory: Directory): Effect {
  const { isThere, epochs, top } = directory
  const gives = (value: unknown, after = directory): Effect => ({ answer: { value }, after, onTop: false })
  const fails = (error: string): Effect => ({ answer: { error }, after: directory, onTop: false })
  const epoch = Number(name)
  const there = epochs.find(([number]) => number === epoch)
  switch (call) {
    case 'list':
      return gives(epochs.map(([number]) => String(number)))
    case 'read':
      return gives(there?.[1])
    case 'create':
      return isThere ? gives(undefined) : fails('ENOENT')
    case 'makeDirectory':
      return gives(undefined, { ...directory, isThere: true })
    case 'unlink':
      return gives(undefined, { ...directory, epochs: epochs.filter((each) => each !== there) })
    case 'link': {
      if (there !== undefined) return fails('EEXIST')
      const onTop = epoch > top
      const all = [...epochs, [epoch, onTop ? text : stray + text] as const].sort(([a], [b]) => a - b)
      const after = { ...directory, epochs: all, top: Math.max(top, epoch) }
      return { answer: { value: undefined }, after, onTop }
    }
    default:
      throw new Error(`unexpected call ${call}`)
  }
}
