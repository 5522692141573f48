import { readSystemFile } from '../process/platform.ts'

/**
 * Lists the mount points at or below a directory: a recursive delete would go straight through a bind mount
 * and delete what is mounted there. `path` must be a real path. Empty on systems without /proc.
 */
export function mountsBeneath(path: string, mountinfo: string = readMountinfo()): string[] {
  // Fast path: most systems have no mount below a temp directory, and one search of the text shows it.
  const escaped = escapeMountPath(path)
  if (!mountinfo.includes(` ${escaped}`)) return []
  const points: string[] = []
  for (const line of mountinfo.split('\n')) {
    const point = line.split(' ', 5)[4]
    if (point === escaped || point?.startsWith(`${escaped}/`)) points.push(unescapeMountPath(point))
  }
  return points
}

/** The characters that mountinfo escapes in a path. The backslash is first: all the escapes contain one. */
const mountEscapes = [
  ['\\', '\\134'],
  [' ', '\\040'],
  ['\t', '\\011'],
  ['\n', '\\012'],
  ['#', '\\043'],
] as const

export const escapeMountPath = (path: string): string =>
  mountEscapes.reduce((text, [char, escape]) => text.replaceAll(char, escape), path)

export const unescapeMountPath = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

/** The mounts of this process; empty where there is no /proc. */
export const readMountinfo = (): string => readSystemFile('/proc/self/mountinfo') ?? ''
