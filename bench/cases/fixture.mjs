import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../processes.mjs'

const tests = 500
const nodeModules = join(import.meta.dirname, '../../node_modules')

/** Each test writes one small file. The kinds differ in what provides the directory and removes it. */
const kinds = {
  'stint/vitest': {
    imports: `import { test } from 'stint/vitest'`,
    test: `({ scratch }) => { scratch.file('a', 'x') }`,
    config: `globalSetup: ['stint/vitest/global-setup'], setupFiles: ['stint/vitest/setup']`,
  },
  'mkdtemp + rm by hand': {
    imports: `import { test } from 'vitest'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'`,
    test: `() => {
    const path = mkdtempSync(tmpdir() + '/t-')
    try { writeFileSync(path + '/a', 'x') } finally { rmSync(path, { recursive: true }) }
  }`,
    config: '',
  },
  'no files': { imports: `import { test } from 'vitest'`, test: '() => {}', config: '' },
}

/** Makes a project of one test file with this project's vitest and the copy of stint under test. */
function makeProject(directory, stint, { imports, test, config }) {
  mkdirSync(join(directory, 'node_modules'), { recursive: true })
  symlinkSync(join(nodeModules, 'vitest'), join(directory, 'node_modules/vitest'))
  symlinkSync(dirname(dirname(dirname(fileURLToPath(stint.library)))), join(directory, 'node_modules/stint'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  writeFileSync(join(directory, 'vitest.config.js'), `export default { test: { ${config} } }`)
  const body = `${imports}\nfor (let i = 0; i < ${tests}; i++) test('test ' + i, ${test})\n`
  writeFileSync(join(directory, 'many.test.js'), body)
  return directory
}

const contender = (name) => {
  const once = ({ place, projects }) => {
    place.renew()
    const command = [
      process.execPath,
      join(nodeModules, 'vitest/vitest.mjs'),
      'run',
      '--root',
      projects[name],
    ]
    const { start, end } = run(command, place, 'ignore')
    const left = readdirSync(place.tmp).filter((entry) => !entry.startsWith('stint-'))
    assert.deepEqual(left, [], 'somebody left files')
    return Number(end - start) / tests
  }
  return { name, check: once, run: once, floor: name === 'no files' }
}

export default {
  name: 'fixture',
  about: `vitest runs a file of ${tests} tests, each with one temp file; time a test, with the start of vitest`,
  unit: 'us',
  rounds: 8,
  subject: 'stint/vitest',
  targets: [],
  setup: ({ place, stint }) => ({
    place,
    projects: Object.fromEntries(
      Object.entries(kinds).map(([name, kind], i) => [
        name,
        makeProject(join(place.base, `project-${i}`), stint, kind),
      ]),
    ),
  }),
  contenders: Object.keys(kinds).map(contender),
}
