import { expect, test } from 'vitest'
import { judge, ownIdentity } from '../base/process/liveness.ts'
import { thisMachine } from '../base/process/platform.ts'
import { newRequestId } from '../base/text/id.ts'
import { formatOwner, type Owner, parseOwnerLink } from './owner.ts'

const nobody: Omit<Owner, 'created_at'> = {
  identity: ownIdentity(),
  session_id: null,
  parent_request_id: null,
  command: null,
  keep: 'never',
}

test('an owner record tells the same as was put into it', () => {
  for (const owner of [
    nobody,
    { ...nobody, keep: 'always' as const, command: 'a: b/c %\n\u0000 ü 🙂' },
    { ...nobody, session_id: 'ses_1', parent_request_id: newRequestId() },
    { ...nobody, identity: { ...ownIdentity(), started: null } },
  ])
    expect(parseOwnerLink(formatOwner(owner))).toEqual(owner)
})

test('an owner record without names fits into an inode of ext4, and a long name into a link of XFS', () => {
  const largest = { ...ownIdentity(), pid: 4_194_304, started: 999_999_999 }
  expect(formatOwner({ ...nobody, identity: largest }).length).toBeLessThan(60)
  const identity = { ...largest, pid: 0x7fffffff, started: Number.MAX_SAFE_INTEGER }
  for (const text of ['\u{FFFF}', '\uD83D', '🙂', 'a🙂', '%', 'x'].map((each) => each.repeat(500))) {
    const names = { session_id: text, parent_request_id: text, command: text }
    const target = formatOwner({ ...nobody, identity, ...names })
    expect(target.length).toBeLessThan(1023)
    expect(parseOwnerLink(target)).toMatchObject({ identity })
  }
})

test('an owner on another machine, or in another namespace, is unknown; one of an earlier boot is dead', () => {
  const look = () => ({ exists: true })
  const livenessOf = (change: object) => {
    const owner = parseOwnerLink(formatOwner({ ...nobody, identity: { ...ownIdentity(), ...change } }))
    return owner && judge(owner.identity, { ...thisMachine(), host: ownIdentity().host || 'here' }, look)
  }
  const host = ownIdentity().host || 'here'
  expect(livenessOf({ host })).toBe('alive')
  expect(livenessOf({ host: 'f'.repeat(32) })).toBe('unknown')
  expect(livenessOf({ host, boot: '11111111-2222-3333-4444-555555555555' })).toBe('dead')
  expect(livenessOf({ host, pidns: '4026539999' })).toBe('unknown')
})

test('anything that is not an owner record is none', () => {
  const whole = formatOwner({ ...nobody, command: 'sh' })
  for (const target of [
    '',
    '/etc/passwd',
    '0:::::0',
    `${whole}:1`,
    whole.replace(/sh$/, '%'),
    whole.slice(0, 9),
  ])
    expect(parseOwnerLink(target)).toBeUndefined()
})
