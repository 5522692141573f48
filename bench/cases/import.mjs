import assert from 'node:assert/strict'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { run } from '../processes.mjs'

const stdout = ['ignore', 'pipe', 'inherit']
const tempy = pathToFileURL(join(import.meta.dirname, '../node_modules/tempy/index.js')).href

/** A new process imports a module, and prints how long that took, in nanoseconds. */
const timed = (url) => `const start = process.hrtime.bigint()
await import(${JSON.stringify(url)})
process.stdout.write(String(process.hrtime.bigint() - start))`

const contender = (name, urlOf) => {
  const measure = (state) => {
    const command = [process.execPath, '--input-type=module', '-e', timed(urlOf(state))]
    return Number(run(command, state.place, stdout).stdout)
  }
  return {
    name,
    check: (state) => assert.ok(measure(state) > 0),
    run: async (state) => measure(state),
  }
}

export default {
  name: 'import',
  about: "`import 'stint'` in a new process",
  unit: 'ms',
  rounds: 60,
  warmUp: 3,
  setup: ({ place, stint }) => ({ place, stint }),
  subject: "import 'stint'",
  targets: [{ against: "import 'tempy'", atMost: 1.5 }],
  contenders: [
    contender("import 'stint'", ({ stint }) => stint.library),
    contender("import 'stint/command'", ({ stint }) => new URL('command.js', stint.library).href),
    contender("import 'tempy'", () => tempy),
  ],
}
