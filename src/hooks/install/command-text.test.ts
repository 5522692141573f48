import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { HostName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'
import { defaultChoices, type HookChoices } from '../options.ts'
import type { InstallPlace } from './agents.ts'
import { choicesOf, settingsCommand, readCommand } from './command-text.ts'

const agents = (Object.keys(hosts) as HostName[]).filter((name) => hosts[name].events.length > 0)
const choices = fc.record(
  {
    scope: fc.constantFrom('workspace' as const, 'paths' as const),
    hold: fc.constantFrom('turn' as const, 'session' as const),
    subagents: fc.constantFrom('together' as const, 'apart' as const),
    failClosed: fc.constant(true as const),
    record: fc.constant(true as const),
    prompts: fc.constant(false as const),
    undo: fc.constant(false as const),
  },
  { requiredKeys: [] },
)
const directory = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !/[\0/]/.test(text))
const place = fc.constantFrom('user' as const, 'project' as const, 'local' as const)

test('a command with any characters in its paths is read back as it was written', () => {
  fc.assert(
    fc.property(fc.constantFrom(...agents), directory, choices, place, (agent, name, chosen, place) => {
      const host = hosts[agent]
      const plain = [`/${name}/node`, `/${name}/stint-hook.cjs`]
      const program = host.usesScript ? [`/${name}/stint-hook.sh`, ...plain] : plain
      for (const event of host.events) {
        const command = readCommand(settingsCommand(host, event, program, chosen, place))
        expect(command).toMatchObject({ program, agent })
        const { failClosed, ...rest } = chosen
        const closed = failClosed && event.kind === 'pre' ? { failClosed } : {}
        if (agent !== 'git' && command)
          expect({ ...defaultChoices, ...choicesOf(command) }).toEqual({
            ...defaultChoices,
            ...rest,
            ...closed,
          })
      }
    }),
  )
})

test('a shell splits the command into the same words', () => {
  const odd = `/tmp/it's a "$HOME" \\ *`
  const [event] = hosts.claude.events
  const line = event && settingsCommand(hosts.claude, event, [odd, 'stint-hook'], {}, 'user')
  const shell = spawnSync('sh', ['-c', `set -- ${line?.replace(/^\S+ /, '')}; printf '%s\\n' "$1"`], {
    encoding: 'utf8',
  })
  expect(shell.stdout).toBe(`${odd}\n`)
})

test('the shell of an agent becomes the script, unless it has to judge the exit code', () => {
  const { claude } = hosts
  const [pre] = claude.events
  const lineOf = (choices: HookChoices, place: InstallPlace) =>
    pre &&
    settingsCommand(claude, pre, ['/opt/stint-hook.sh', '/bin/node', '/opt/stint-hook.cjs'], choices, place)
  expect(lineOf({}, 'user')).toMatch(/^exec \/opt\/stint-hook\.sh /)
  expect(lineOf({ failClosed: true }, 'user')).toMatch(/^\/opt\/stint-hook\.sh .* \|\| /)
  expect(lineOf({}, 'local')).toMatch(/^\/opt\/stint-hook\.sh .* \|\| /)
  expect(pre && settingsCommand(claude, pre, ['stint-hook'], {}, 'user')).not.toContain('exec')
})

test.each([
  'echo stint-hook claude',
  'my-wrapper --quiet stint-hook claude',
  'stint-hook',
  'stint-hook somebody',
  'FOO=1 stint-hook claude',
  'stint-hook claude; rm -rf x',
  'stint-hook claude | tee log',
  '/opt/not-stint-hook claude',
  'stint-hook claude "x"',
  'stint-hook.sh /bin/node /opt/stint-hook.cjs claude',
  '/opt/stint-hook.sh node /opt/stint-hook.cjs claude',
  'exec stint-hook claude',
  '/opt/stint-hook.sh /bin/nice /bin/node /opt/stint-hook.cjs claude',
])('%j is not a command of stint', (text) => {
  expect(readCommand(text)).toBeUndefined()
})
