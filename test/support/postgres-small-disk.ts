import type { PostgresPrograms } from './postgres-binaries.ts'
import { isRoot } from './world.ts'

/** A program with its arguments, and the user that runs it. */
export interface StartCommand {
  command: string
  args: string[]
  uid?: number
  gid?: number
}

export interface SmallDisk {
  /** The mount point, which only the server sees. `space` in it is for a tablespace. */
  path: string
  /** As `mount` takes it. */
  size: string
  /** When this file exists, some space is freed. */
  signal: string
}

/**
 * Mounts the disk and starts the server. A file of ballast is removed when the signal file appears: a server
 * on a full disk cannot free space itself. The ballast is larger than the buffers that the server still has
 * to write.
 */
const script = (owner: string): string => `
mount -t tmpfs -o "size=$SIZE,mode=0700${owner}" tmpfs "$DISK" && mkdir -m 0700 "$DISK/space" || exit
head -c 20971520 /dev/zero > "$DISK/ballast"
(while [ -d "$DISK" ] && ! [ -e "$SIGNAL" ]; do sleep 0.1; done; rm "$DISK/ballast") < /dev/null > /dev/null 2>&1 &
exec "$@"`

/**
 * The command that starts a server with a small disk, which vanishes with it. Root mounts the disk and then
 * switches to the server's user. Any other user mounts it as root of a user namespace and starts the server
 * in a nested one, where it is not root.
 */
export function onSmallDisk(
  { path, size, signal }: SmallDisk,
  args: readonly string[],
  { postgres, uid, gid }: PostgresPrograms,
): StartCommand {
  const become = isRoot
    ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--']
    : ['unshare', '--user', '--map-user=1000', '--map-group=1000']
  const unshare = isRoot ? ['--mount'] : ['--user', '--map-root-user', '--mount']
  const give = isRoot ? `\nchown ${uid}:${gid} "$DISK/space"` : ''
  const text = script(isRoot ? `,uid=${uid},gid=${gid}` : '').replace('\nhead', `${give}\nhead`)
  const env = ['env', `DISK=${path}`, `SIZE=${size}`, `SIGNAL=${signal}`]
  return {
    command: 'unshare',
    args: [...unshare, ...env, 'sh', '-c', text, 'sh', ...become, postgres, ...args],
  }
}
