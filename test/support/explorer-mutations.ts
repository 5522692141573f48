import type { RegisterFiles } from '../../src/lease/file-register.ts'

/** Ways to break the register from outside, each of which the explorer must find. */
export type Mutation =
  | 'no listing after the link'
  | 'the listing before the link'
  | 'no listing after the read'
  | 'a link that replaces'
  | 'the top epoch is deleted'
  | 'a first epoch from the clock'

/** The files of one operation, broken. */
export function mutated(
  files: RegisterFiles,
  isSwap: boolean,
  mutation: Mutation | undefined,
): RegisterFiles {
  switch (mutation) {
    case 'no listing after the link':
      return isSwap ? withListing(files, (created) => [String(Number(created) - 1), created]) : files
    case 'the listing before the link':
      return isSwap ? listingFirst(files) : files
    case 'no listing after the read':
      return isSwap ? files : listingOnce(files)
    case 'a link that replaces':
      return { ...files, link: (path, name) => replace(files, path, name) }
    case 'the top epoch is deleted':
      return isSwap ? deletingTop(files) : files
    default:
      return files
  }
}

const epochOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** The listing of a swap is not made, but follows from the epoch that was created. */
function withListing(files: RegisterFiles, listing: (created: string) => string[]): RegisterFiles {
  let created = ''
  return {
    ...files,
    async link(path, name) {
      await files.link(path, name)
      created = epochOf(name)
    },
    list: () => listing(created),
  }
}

function listingFirst(files: RegisterFiles): RegisterFiles {
  let names: string[] = []
  const after = withListing(files, (created) => [...names, created])
  return {
    ...after,
    async link(path, name) {
      names = await files.list(name.slice(0, name.lastIndexOf('/')))
      await after.link(path, name)
    },
  }
}

/** The second listing of a read repeats the first. */
function listingOnce(files: RegisterFiles): RegisterFiles {
  let names: string[] | undefined
  let hasRead = false
  return {
    ...files,
    async list(directory) {
      if (!hasRead || names === undefined) names = await files.list(directory)
      hasRead = false
      return names
    },
    async read(path) {
      const text = await files.read(path)
      hasRead = text !== undefined
      return text
    },
  }
}

async function replace(files: RegisterFiles, path: string, name: string): Promise<void> {
  await files.unlink(name)
  await files.link(path, name)
}

/** A swap that has won removes the epoch again, like a sweep of keys that nobody holds. */
function deletingTop(files: RegisterFiles): RegisterFiles {
  let created = ''
  return {
    ...files,
    async link(path, name) {
      await files.link(path, name)
      created = name
    },
    async list(directory) {
      const names = await files.list(directory)
      if (names.every((name) => Number(name) <= Number(epochOf(created)))) await files.unlink(created)
      return names
    },
  }
}
