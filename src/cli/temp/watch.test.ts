import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { plant } from '../../../test/support/plant.ts'
import { dead } from '../../../test/support/temp-commands.ts'
import { stintBin, until, World } from '../../../test/support/world.ts'

test('watch prints and appends to the CSV one line per sample; it ends with 0, or after Ctrl-C with 130', async () => {
  await using world = new World()
  const csv = join(world.tmp, 'temp.csv')
  const path = plant(world, dead)
  const watch = world.startStint(['temp', 'watch', '--interval', '50ms', '--json', '--csv', csv])
  const samples = () =>
    watch
      .output()
      .stdout.split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { files: number; growth: number })
  await until('there is a sample', () => samples().length > 0)
  expect(samples()[0]).toMatchObject({
    files: 2,
    directories: 2,
    scratches: 1,
    live: 0,
    orphans: 1,
    growth: 0,
  })
  writeFileSync(join(path, 'more'), 'x'.repeat(1234))
  await until('it has seen the growth', () => samples().at(-1)?.files === 3)
  expect(samples().reduce((sum, { growth }) => sum + growth, 0)).toBe(1234)
  watch.child.kill('SIGINT')
  expect(await watch.finished).toMatchObject({ code: 130, stderr: '' })
  const [header, ...rows] = readFileSync(csv, 'utf8').trimEnd().split('\n')
  expect(header).toMatch(/^Timestamp,Files,Directories,Total Size \(bytes\),/)
  expect(rows.length).toBeGreaterThanOrEqual(samples().length - 1)
  for (const row of rows) expect(row).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z,[23],2,\d+,1,0,1,\d+,\d+$/)
  expect(statSync(csv).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(world.tmp, 'home/stats')).some((name) => name.endsWith('.ndjson'))).toBe(true)

  const again = await world.stint(['temp', 'watch', '--max-runtime', '0', '--csv', csv])
  expect(again).toMatchObject({ code: 0, stderr: '' })
  expect(again.stdout).toMatch(
    /^[-\d]+ [:\d]+ {2}3 files {2}2 directories {2}\d.*1 scratch {2}0 live {2}1 orphan {2}\+0 B\n$/,
  )
  const grown = readFileSync(csv, 'utf8').trimEnd().split('\n')
  expect(grown).toHaveLength(rows.length + 2)
  expect(grown.filter((line) => line === header)).toHaveLength(1)

  const older = (header ?? '').replace(',Disk (bytes)', '')
  writeFileSync(csv, `${older}\n`)
  expect(await world.stint(['temp', 'watch', '--max-runtime', '0', '--csv', csv])).toMatchObject({ code: 0 })
  const [kept, row = ''] = readFileSync(csv, 'utf8').split('\n')
  expect([kept, row.split(',').length]).toEqual([older, older.split(',').length])
})

test('watch ends when its output is closed', async () => {
  await using world = new World()
  const pipeline = '"$0" "$1" temp watch --interval 50ms | head -n 1'
  const { stdout, stderr } = await world.start('sh', ['-c', pipeline, process.execPath, stintBin]).finished
  expect([stdout.split('\n').length, stderr]).toEqual([2, ''])
})

test('watch --csv refuses a file with another header, a directory and a missing directory', async () => {
  await using world = new World()
  const other = join(world.tmp, 'other.csv')
  writeFileSync(other, 'Name,Colour\n')
  const refused = async (csv: string) => {
    const { code, stdout, stderr } = await world.stint(['temp', 'watch', '--max-runtime', '0', '--csv', csv])
    return [code, stdout, /\(([A-Z_]+)\)/.exec(stderr)?.[1]]
  }
  expect(await refused(other)).toEqual([6, '', 'NAME_TAKEN'])
  expect(readFileSync(other, 'utf8')).toBe('Name,Colour\n')
  expect(await refused(world.tmp)).toEqual([6, '', 'NAME_TAKEN'])
  execFileSync('mkfifo', [join(world.tmp, 'fifo')])
  expect(await refused(join(world.tmp, 'fifo'))).toEqual([6, '', 'NAME_TAKEN'])
  expect(await refused('/dev/full')).toEqual([6, '', 'NAME_TAKEN'])
  expect(await refused(join(world.tmp, 'no/such.csv'))).toEqual([5, '', 'NOT_FOUND'])
  expect((await world.stint(['temp', 'watch', '--interval', '1ms'])).code).toBe(2)
})

test('watch --csv on a full disk leaves no file without a header behind', async () => {
  await using world = new World()
  const disk = join(world.tmp, 'disk')
  const watch = `"$0" "$1" temp watch --max-runtime 0 --csv ${disk}/temp.csv`
  const script = `mkdir ${disk} && mount -t tmpfs -o size=16k tmpfs ${disk} && cat /dev/zero > ${disk}/x 2>/dev/null
    ${watch}; ls ${disk}`
  const full = await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, stintBin])
  expect(full.stderr).toContain('(DISK_FULL)')
  expect(full.stdout).toBe('x\n')
})
