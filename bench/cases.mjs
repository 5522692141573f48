import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const directory = join(import.meta.dirname, 'cases')

/** Loads the benches in cases/ whose names match. The default export of a file is one bench or a list. */
export async function loadCases(pattern) {
  const files = readdirSync(directory).filter((name) => name.endsWith('.mjs'))
  const modules = await Promise.all(files.sort().map((name) => import(`./cases/${name}`)))
  const cases = modules.flatMap((module) => module.default)
  for (const bench of cases) assertSound(bench)
  return cases.filter(({ name }) => pattern.test(name))
}

/** Checks the names in a bench: a misspelt target would never be missed. */
function assertSound({ name, subject, contenders, targets }) {
  const known = new Set(contenders.map((contender) => contender.name))
  if (known.size !== contenders.length) throw new Error(`bench ${name}: two contenders have the same name`)
  if (contenders.filter(({ floor }) => floor).length > 1) throw new Error(`bench ${name}: two floors`)
  for (const wanted of [subject, ...targets.map(({ against }) => against)]) {
    if (!known.has(wanted)) throw new Error(`bench ${name}: there is no contender ${JSON.stringify(wanted)}`)
  }
  if (new Set(targets.map(({ against }) => against)).size !== targets.length) {
    throw new Error(`bench ${name}: two targets against the same contender`)
  }
  for (const contender of contenders) {
    if (typeof contender.check !== 'function')
      throw new Error(`bench ${name}: ${contender.name} has no check`)
  }
}
