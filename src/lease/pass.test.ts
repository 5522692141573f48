import { existsSync, mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LockWorld } from '../../test/support/lock-world.ts'
import { type Identity, identify, ownIdentity } from '../base/process/liveness.ts'
import { uptimeSeconds } from '../base/process/platform.ts'
import { homeRegister } from './file-register.ts'
import {
  forgetPasses,
  formatPassFile,
  isLocalFileSystem,
  type Pass,
  parsePassFile,
  renewPasses,
  sweepPasses,
} from './pass.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

const agent = ownIdentity()
const pass: Pass = {
  key: '0123456789ab',
  epoch: 1_794_885_483_598,
  agent,
  until: 5000,
  scope: 'workspace',
  root: '/home/you/my app',
  isRepository: true,
  directories: ['/home/you/my app', '/home/you/my app/ä'],
  edits: ['/home/you/my app/src'],
}

test('a pass is read back as it was written; a damaged one is none', () => {
  const text = formatPassFile(pass)
  expect(parsePassFile(pass.key, text)).toEqual(pass)
  for (const damaged of [
    '',
    'x',
    text.slice(0, 40),
    text.replace('agent {', 'agent ['),
    text.replace('pass-2 ', 'pass-1 '),
  ])
    expect(parsePassFile(pass.key, damaged)).toBeUndefined()
})

test('a sweep removes the passes and marks of dead agents and former boots, and keeps those of living ones', async () => {
  await using world = new LockWorld()
  const passes = join(world.home, 'passes')
  const agents = {
    living: agent,
    dead: { ...agent, started: (agent.started ?? 0) + 1 },
    booted: { ...agent, boot: 'another-boot' },
    elsewhere: { ...agent, pidns: '1' },
  }
  for (const [session, of] of Object.entries(agents)) {
    mkdirSync(join(passes, session), { recursive: true, mode: 0o700 })
    writeFileSync(join(passes, session, pass.key), formatPassFile({ ...pass, agent: of }))
    writeFileSync(join(passes, session, `${pass.key}.7`), '+one 1.00 7 edit\n')
  }
  await world.stint(['sweep', '--json'])
  const left = Object.keys(agents).filter((session) => existsSync(join(passes, session)))
  expect(left).toEqual(['living', 'elsewhere'])
})

test('a sweep keeps the marks of a session that goes on in another process meanwhile', async () => {
  await using world = new LockWorld()
  const passes = join(world.home, 'passes')
  const [marks, later] = ['7', '9'].map((epoch) => join(passes, 'session', `${pass.key}.${epoch}`)) as [
    string,
    string,
  ]
  mkdirSync(join(passes, 'session'), { recursive: true, mode: 0o700 })
  writeFileSync(join(passes, 'session', pass.key), formatPassFile(pass))
  writeFileSync(marks, '+one 1.00 7 edit\n')
  sweepPasses(passes, () => {
    writeFileSync(later, '+two 2.00 8 edit\n')
    return 'dead'
  })
  expect([marks, later].map((path) => existsSync(path))).toEqual([false, true])
})

test('a pass is written on local file systems only', () => {
  const types = { ext4: 0xef53, xfs: 0x58465342, btrfs: 0x9123683e, tmpfs: 0x01021994, overlay: 0x794c7630 }
  for (const type of Object.values(types)) expect(isLocalFileSystem(type)).toBe(true)
  const remote = {
    nfs: 0x6969,
    cifs: 0xff534d42,
    smb2: 0xfe534d42,
    '9p': 0x01021997,
    fuse: 0x65735546,
    ceph: 0xc36400,
  }
  for (const type of Object.values(remote)) expect(isLocalFileSystem(type)).toBe(false)
  expect(isLocalFileSystem(statfsSync('/proc').type)).toBe(false)
})

test('a pass lists only files that the claim covers at its time', async () => {
  await using world = new LockWorld()
  const register = homeRegister({ STINT_HOME: world.home })
  const claims = WorkspaceClaims.open(register, { workspace: world.workspace })
  const take = (...paths: string[]) =>
    claims.acquireSync({
      sessionId: 'a',
      holder: agent,
      paths,
      mode: 'exclusive',
      ttlMs: 300_000,
      passUptime: uptimeSeconds(),
    })
  const root = world.workspace
  const files = (...names: string[]) => names.map((name) => join(root, name))
  const added = { key: world.key, scope: 'paths', root, isRepository: false, directories: [root] } as const
  const edits = () =>
    parsePassFile(world.key, readFileSync(join(world.home, 'passes/a', world.key), 'utf8'))?.edits
  take('a.txt', 'b.txt')
  renewPasses(register, { sessionId: 'a', agent }, { ...added, edits: files('a.txt', 'b.txt') })
  expect(edits()).toEqual(files('a.txt', 'b.txt'))
  claims.releaseSync({ sessionId: 'a', paths: ['a.txt'] })
  take('c.txt')
  renewPasses(register, { sessionId: 'a', agent }, { ...added, edits: files('c.txt') })
  expect(edits()).toEqual(files('c.txt', 'b.txt'))
})

test('a session that holds nothing, or whose claim another process holds, gets no pass', async () => {
  await using world = new LockWorld()
  const register = homeRegister({ STINT_HOME: world.home })
  const root = world.workspace
  const added = {
    key: world.key,
    scope: 'workspace',
    root,
    isRepository: false,
    directories: [root],
    edits: [],
  } as const
  renewPasses(register, { sessionId: 'a', agent }, added)
  expect(existsSync(join(world.home, 'passes/a', world.key))).toBe(false)
  WorkspaceClaims.open(register, { workspace: root }).acquireSync({
    sessionId: 'a',
    holder: { ...agent, pid: 1, started: 1 },
    paths: ['**'],
    mode: 'exclusive',
    ttlMs: 300_000,
    passUptime: uptimeSeconds(),
  })
  renewPasses(register, { sessionId: 'a', agent }, added)
  expect(existsSync(join(world.home, 'passes/a', world.key))).toBe(false)
})

test('the end of a session keeps the marks of another process that goes on with it', async () => {
  await using world = new LockWorld()
  const register = homeRegister({ STINT_HOME: world.home })
  const claims = WorkspaceClaims.open(register, { workspace: world.workspace })
  const hold = (holder: Identity) =>
    claims.acquireSync({
      sessionId: 'a',
      holder,
      paths: ['**'],
      mode: 'exclusive',
      ttlMs: 300_000,
      passUptime: uptimeSeconds(),
    })
  const other = { ...agent, pid: process.ppid, started: identify(process.ppid)?.started ?? 0 }
  hold(agent)
  const { epoch } = hold(other)
  const marks = join(world.home, 'passes/a', `${world.key}.${epoch}`)
  mkdirSync(join(world.home, 'passes/a'), { recursive: true, mode: 0o700 })
  writeFileSync(marks, `+one ${(uptimeSeconds() ?? 0).toFixed(2)} ${other.pid} edit\n`)
  forgetPasses(register, { sessionId: 'a', agent })
  expect(existsSync(marks)).toBe(true)
  claims.releaseSync({ sessionId: 'a' })
  forgetPasses(register, { sessionId: 'a', agent })
  expect(existsSync(join(world.home, 'passes/a'))).toBe(false)
})
