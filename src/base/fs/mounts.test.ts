import { expect, test } from 'vitest'
import { escapeMountPath, mountHolding, mountsBeneath } from './mounts.ts'

test('mount points at or below a path are found, also with escaped characters', () => {
  const path = '/tmp/a b\\c'
  const line = (point: string) => `36 35 98:0 / ${escapeMountPath(point)} rw,noatime - ext3 /dev/root rw`
  const text = ['/', '/tmp', `${path}c`, path, `${path}/in side`].map(line).join('\n')
  expect(mountsBeneath(path, text)).toEqual([path, `${path}/in side`])
  expect(mountsBeneath('/tmp/other', text)).toEqual([])
})

test('the mount that holds a path is the nearest above it, and of two at one point the last', () => {
  const mountinfo = [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
    '30 22 0:30 / /home rw - nfs4 server:/home rw,vers=4',
    '31 30 0:31 / /home/my\\040name ro,nosuid - tmpfs tmpfs rw',
    '32 30 0:32 / /home/my\\040name ro,noexec master:5 shared:7 - xfs /dev/sdb rw',
  ].join('\n')
  expect(mountHolding('/home/my name/x', mountinfo)).toEqual({
    point: '/home/my name',
    type: 'xfs',
    source: '/dev/sdb',
    options: ['ro', 'noexec', 'rw'],
  })
  expect(mountHolding('/home/other', mountinfo)?.type).toBe('nfs4')
  expect(mountHolding('/homeless', mountinfo)?.type).toBe('ext4')
  expect(mountHolding('/anything', '')).toBeUndefined()
  expect(mountHolding('/proc/self')?.type).toBe('proc')
})
