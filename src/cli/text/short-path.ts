import { homedir } from 'node:os'

/** A path as people write it: `~/src` for what lies in their home directory. */
export function shortPath(path: string, home: string = homeOrNothing()): string {
  if (home === '' || home === '/') return path
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

function homeOrNothing(): string {
  try {
    return homedir()
  } catch {
    // A user without an entry in the system's list.
    return ''
  }
}
