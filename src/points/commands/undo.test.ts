import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot, stintBin, World } from '../../../test/support/world.ts'

test('the scene of the page about undo works as it is written', async () => {
  await using world = new World({ STINT_OUTPUT: '' })
  const page = readFileSync(join(projectRoot, 'docs/undo.md'), 'utf8')
  const [, scene = ''] = /```console\n(.*?)```/s.exec(page) ?? []
  const commands = scene.split('\n').filter((line) => line.startsWith('$ '))
  const script = commands.map((line) => line.slice(2)).join('\n')
  const stint = `stint() { '${process.execPath}' '${stintBin}' "$@"; }`
  const finished = await world.start('sh', ['-ec', `${stint}\n${script}`], { cwd: world.tmp }).finished
  expect(finished.stderr).toBe('')
  expect(finished.code).toBe(0)
  const shown = scene.split('\n').filter((line) => line !== '' && !line.startsWith('$ '))
  expect(finished.stdout).toContain(`\n${shown.join('\n')}\n`)
})
