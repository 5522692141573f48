import { readFileSync } from 'node:fs'

/**
 * Mount points at or beneath a directory. A recursive delete walks straight through a bind mount, so a tree
 * that has one is not ours to delete. `path` must be a real path; empty where /proc cannot tell.
 */
export function mountsBeneath(path: string, mountinfo: string = readMountinfo()): string[] {
  // Most systems have no mount below a temp directory: one search over the text answers that.
  const escaped = escapeMountPath(path)
  if (!mountinfo.includes(` ${escaped}`)) return []
  const found: string[] = []
  for (const line of mountinfo.split('\n')) {
    const point = line.split(' ', 5)[4]
    if (point === escaped || point?.startsWith(`${escaped}/`)) found.push(unescapeMountPath(point))
  }
  return found
}

/** A file system as it is mounted somewhere. */
export interface Mount {
  point: string
  /** `ext4`, `tmpfs`, `nfs4`, `fuse.sshfs`, … */
  type: string
  source: string
  options: string[]
}

/** The mount that holds a real path: of those above it the nearest, of several at one point the last. Undefined where /proc cannot tell. */
export function mountHolding(path: string, mountinfo: string = readMountinfo()): Mount | undefined {
  let found: Mount | undefined
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const [, , , , escaped, options = ''] = before.split(' ')
    const [type, source = '', superOptions = ''] = after.split(' ')
    if (escaped === undefined || type === undefined) continue
    const point = unescapeMountPath(escaped)
    const holds = path === point || path.startsWith(point === '/' ? '/' : `${point}/`)
    if (!holds || point.length < (found?.point.length ?? 0)) continue
    found = { point, type, source, options: [...options.split(','), ...superOptions.split(',')] }
  }
  return found
}

/** mountinfo writes white space and backslashes in a path as three octal digits. */
export const escapeMountPath = (path: string): string =>
  path.replace(/[ \t\n\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)

const unescapeMountPath = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

function readMountinfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}
