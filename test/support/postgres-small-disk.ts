import type { Lodging } from './postgres-binaries.ts'
import { isRoot } from './world.ts'

/** A program and how it is started. */
export interface Start {
  command: string
  args: string[]
  uid?: number
  gid?: number
}

export interface SmallDisk {
  /** Where it is mounted, seen by the server alone; `space` in it is for a tablespace. */
  path: string
  size: string
  /** When this file is there, some room is made. */
  signal: string
}

/** Ballast is thrown out when the signal comes: a server on a full disk cannot even free what it has. It is more than the server has in its memory. */
const script = (owner: string): string => `
mount -t tmpfs -o "size=$SIZE,mode=0700${owner}" tmpfs "$DISK" && mkdir -m 0700 "$DISK/space" || exit
head -c 20971520 /dev/zero > "$DISK/ballast"
(while [ -d "$DISK" ] && ! [ -e "$SIGNAL" ]; do sleep 0.1; done; rm "$DISK/ballast") < /dev/null > /dev/null 2>&1 &
exec "$@"`

/**
 * The server with a small disk, which goes with it. Root can mount, and then becomes who may run the server; anybody else is root in a namespace of their own, where the
 * server runs in another one, in which they are not.
 */
export function onSmallDisk(
  { path, size, signal }: SmallDisk,
  args: readonly string[],
  { postgres, uid, gid }: Lodging,
): Start {
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
