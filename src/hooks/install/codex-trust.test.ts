import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { plantCodex, trustingCodex } from '../../../test/support/codex-stand-in.ts'
import { isRunning, until, World } from '../../../test/support/world.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { askCodexTrust, describeTrust } from './codex-trust.ts'

afterEach(() => vi.unstubAllEnvs())

/** A user whose PATH has what is planted in `bin`, and the programs of the system. */
class CodexUser extends World {
  readonly bin = join(this.tmp, 'bin')
  readonly settings = join(this.tmp, 'hooks.json')

  constructor() {
    super()
    mkdirSync(this.bin)
    writeFileSync(this.settings, '{}')
    vi.stubEnv('PATH', `${this.bin}:${process.env.SYSTEM_PATH}`)
  }

  ask(withinMs = 30_000): Promise<string> {
    return askCodexTrust(this.settings, this.tmp, withinMs)
  }
}

test.each([
  [['trusted'], 'trusted'],
  [['managed'], 'trusted'],
  [['untrusted'], 'untrusted'],
  [['modified', 'trusted'], 'modified'],
  [['untrusted', 'modified'], 'modified'],
  [['trusted', 'a word of a later version'], 'untrusted'],
])('hooks that Codex lists as %j are %s', async (listed, trust) => {
  await using world = new CodexUser()
  trustingCodex(world.bin, world.settings, ...listed)
  expect(await world.ask()).toBe(trust)
})

test('hooks in a file that Codex does not list are unlisted', async () => {
  await using world = new CodexUser()
  trustingCodex(world.bin, join(world.tmp, 'other.json'), 'trusted')
  expect(await world.ask()).toBe('unlisted')
})

test.each([
  ['ends at once', 'exit 3'],
  ['prints no JSON', 'echo garbage; echo "{]"; cat >/dev/null'],
  ['prints a line without end', "head -c 9000000 /dev/zero | tr '\\0' x"],
  [
    'answers with an error',
    `echo '{"id":2,"error":{"code":-32601,"message":"no such method"}}'; cat >/dev/null`,
  ],
  ['answers with something else', `echo '{"id":2,"result":{"data":3}}'; cat >/dev/null`],
])('a codex that %s: it is not known whether it trusts the hooks', async (_, script) => {
  await using world = new CodexUser()
  plantCodex(world.bin, script)
  expect(await world.ask(1000)).toBe('unknown')
})

test('without a codex on PATH, no program is started', async () => {
  await using world = new CodexUser()
  expect(await world.ask()).toBe('unknown')
  expect(describeTrust('unknown')).toEqual({
    problem: 'it is not known whether Codex trusts these hooks',
    fix: 'start Codex, enter /hooks and press t',
  })
})

/** The running processes that have a word in their command line. */
const processesWith = (word: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    const line = ifPossible(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? ''
    return line.includes(word) && isRunning(Number(pid))
  })

test('a codex that hangs is ended, with the program that it has started', async () => {
  await using world = new CodexUser()
  plantCodex(world.bin, `cd '${world.tmp}'; sh -c 'sleep 300; :' '${world.bin}/child' & wait; sleep 300`)
  expect(await world.ask(2000)).toBe('unknown')
  await until('both are ended', () => processesWith(world.bin).length === 0)
})

test('a codex that has answered and does not end is ended, too', async () => {
  await using world = new CodexUser()
  trustingCodex(world.bin, world.settings, 'trusted')
  renameSync(join(world.bin, 'codex'), join(world.bin, 'answering'))
  plantCodex(world.bin, `'${world.bin}/answering' "$@"; sleep 300`)
  expect(await world.ask(30_000)).toBe('trusted')
  await until('it is ended', () => processesWith(world.bin).length === 0)
})
