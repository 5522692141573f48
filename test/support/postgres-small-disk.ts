import type { Lodging } from './postgres-binaries.ts'
import { isRoot } from './world.ts'

/** A program and how it is started. */
export interface Start {
  command: string
  args: string[]
  uid?: number
  gid?: number
}

/**
 * The server with a small disk at `path`, which only it sees, and which goes with it. Root can mount, and then becomes who may run the server; anybody else is root in a
 * namespace of their own, where the server runs in another one, in which they are not.
 */
export function onSmallDisk(
  path: string,
  size: string,
  args: readonly string[],
  { postgres, uid, gid }: Lodging,
): Start {
  const owner = uid === undefined ? '' : `,uid=${uid},gid=${gid}`
  const mount = `mount -t tmpfs -o size=${size},mode=0700${owner} tmpfs "${path}"`
  const become = isRoot
    ? `setpriv --reuid=${uid} --regid=${gid} --clear-groups --`
    : 'unshare --user --map-user=1000 --map-group=1000'
  const unshare = isRoot ? ['--mount'] : ['--user', '--map-root-user', '--mount']
  return {
    command: 'unshare',
    args: [...unshare, 'sh', '-c', `${mount} && exec ${become} "$0" "$@"`, postgres, ...args],
  }
}
