import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot, World } from '../../test/support/world.ts'

/** Writes a tool whose handler is this code, with `ctx`. Its answer is printed as text. */
function toolIn(world: World, handler: string): string {
  const path = join(world.tmp, 'tool.mjs')
  writeFileSync(
    path,
    `import { readFileSync, writeFileSync } from 'node:fs'
    import { defineCommand, runMain } from ${JSON.stringify(join(projectRoot, 'dist/command/index.js'))}
    await runMain(defineCommand({
      name: 'tool',
      envelope: 'on-request',
      async run(ctx) { ${handler} },
      render: ({ files }) => files.length + ' files',
    }))`,
  )
  return path
}

test('a handler that calls process.exit(0) succeeds without an answer', async () => {
  await using world = new World()
  const tool = toolIn(world, 'process.exit(0)')
  expect(await world.start(process.execPath, [tool]).finished).toMatchObject({
    code: 0,
    stdout: '',
    stderr: '',
  })
})

test('what a handler says and warns of keeps its lines, and nothing else in it controls the terminal', async () => {
  await using world = new World()
  const text = String.raw`'\x1b[31mred\x1b[39m\tx\r\n\x1b]0;title\x07\x9b2J\u202e'`
  const tool = toolIn(world, `ctx.say(${text}); ctx.warn(${text}); return { files: [] }`)
  const { stdout, stderr } = await world.start(process.execPath, [tool]).finished
  const rest = String.raw`\u001b]0;title\u0007\u009b2J\u202e`
  expect(stdout).toBe(`\x1b[31mred\x1b[39m\tx\r\n${rest}\n0 files\n`)
  expect(stderr).toBe(String.raw`tool: warning: \u001b[31mred\u001b[39m${'\t'}x\u000d${'\n'}${rest}${'\n'}`)
})

test('the answer is printed even if a cleanup hook calls process.exit', async () => {
  await using world = new World()
  const tool = toolIn(world, `ctx.onCleanup(() => process.exit(0)); return { files: [1, 2] }`)
  expect(await world.start(process.execPath, [tool]).finished).toMatchObject({ code: 0, stdout: '2 files\n' })
})

test('outputs of a handler that calls process.exit are kept if it succeeds, and removed if it fails', async () => {
  await using world = new World()
  const leave = (code: number): string =>
    toolIn(world, `console.error(ctx.scratch.output('x', { keepSeconds: 3600 })); process.exit(${code})`)
  const before = Date.now()
  const succeeded = await world.start(process.execPath, [leave(0)]).finished
  const expiresAt = statSync(dirname(succeeded.stderr.trim())).mtimeMs
  expect(expiresAt).toBeGreaterThan(before + 3_590_000)
  const failed = await world.start(process.execPath, [leave(3)]).finished
  const [output = ''] = failed.stderr.split('\n')
  expect([failed.code, output.endsWith('/x'), existsSync(output)]).toEqual([3, true, false])
})

test('a child that cannot be recorded is killed, and spawn rejects', async () => {
  await using world = new World()
  const disk = join(world.tmp, 'disk')
  mkdirSync(disk)
  const tool = toolIn(
    world,
    `try { writeFileSync(process.env.STINT_TMP_ROOT + '/filler', Buffer.alloc(1 << 20)) } catch {}
    const { code } = await ctx.spawn('sleep', ['300'], { stdio: 'ignore' }).catch((error) => error)
    const children = () => readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim().split(' ')
    const sleeps = (pid) => { try { return readFileSync('/proc/' + pid + '/comm', 'utf8') === 'sleep\\n' } catch { return false } }
    // The guard is a child as well.
    while (children().some(sleeps)) await new Promise((resolve) => setTimeout(resolve, 5))
    console.error(code)
    return { files: [] }`,
  )
  const script = `export STINT_TMP_ROOT='${disk}'
    mount -t tmpfs -o size=64k,mode=1777 tmpfs "$STINT_TMP_ROOT" && exec "$0" "$1" --timeout 60s`
  const { stderr, code } = await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, tool])
  expect([code, stderr]).toEqual([0, 'DISK_FULL\n'])
})
