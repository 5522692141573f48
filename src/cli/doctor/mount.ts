import type { Mount } from '../../base/fs/mounts.ts'
import { visibleText } from '../../base/text/escape.ts'
import { bad, type Check, fine, poor } from '../health/check.ts'
import { type Role, variableOf } from '../health/directory-role.ts'

/** What several machines may have mounted, each with its own idea of what is in a directory just now. */
const network =
  /^(nfs\d?|cifs|smb\d|smbfs|afs|ceph|lustre|gpfs|beegfs|glusterfs|fuse\.(sshfs|glusterfs|ceph.*|s3fs|gcsfuse|rclone))$/
/** What a virtual machine is lent of its host's. */
const lent = /^(9p|virtiofs|vboxsf|drvfs|prl_fs|fuse\.vmhgfs-fuse)$/
const memory = /^(tmpfs|ramfs)$/

/** Can this kind of file system hold what is to be kept there? */
export function judgeMount(role: Role, mount: Mount | undefined): Check {
  const name = `${role} mount`
  if (mount === undefined) return fine(name, 'this system does not say what kind it is')
  const { type, options } = mount
  const what = `${type} at ${visibleText(mount.point, 2000)}`
  const elsewhere = `Set ${variableOf[role]} to a directory on a local disk.`
  if (options.includes('ro')) return bad(name, `${what} is read-only`, `Mount it writable, or: ${elsewhere}`)
  if (network.test(type))
    return role === 'home'
      ? bad(name, `${what}: over a network, listings may be out of date, and locks rely on them`, elsewhere)
      : poor(name, `${what}: every file of a run goes over the network`, elsewhere)
  if (lent.test(type))
    return poor(
      name,
      `${what} is shared from another machine: slow, and not everything works as on a disk`,
      elsewhere,
    )
  if (role === 'home' && memory.test(type))
    return poor(name, `${what} is in memory: sessions are lost at a restart`, elsewhere)
  if (role === 'home' && type === 'overlay')
    return poor(
      name,
      `${what} is removed with its container, and the sessions with it`,
      'Set STINT_HOME to a volume.',
    )
  if (role === 'temp' && options.includes('noexec'))
    return poor(name, `${what} is noexec: programs that unpack others there cannot start them`, elsewhere)
  return fine(name, what)
}
