import { expect, test } from 'vitest'
import { escapeMountPath, mountsBeneath } from './mounts.ts'

test('mount points at or below a path are found, also with escaped characters', () => {
  const path = '/tmp/a b\\c'
  const line = (point: string) => `36 35 98:0 / ${escapeMountPath(point)} rw,noatime - ext3 /dev/root rw`
  const text = ['/', '/tmp', `${path}c`, path, `${path}/in side`].map(line).join('\n')
  expect(mountsBeneath(path, text)).toEqual([path, `${path}/in side`])
  expect(mountsBeneath('/tmp/other', text)).toEqual([])
})
