import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { openToAll, projectRoot } from './world.ts'
import { copyPrograms } from './copy-tree.ts'

export type TestRunner = 'vitest' | 'node-test' | 'jest'

const jestPackages = join(projectRoot, 'examples/jest/node_modules')

const beside: Record<TestRunner, Record<string, string>> = {
  vitest: { vitest: join(projectRoot, 'node_modules/vitest') },
  'node-test': {},
  jest: {
    jest: join(jestPackages, 'jest'),
    'jest-environment-node': join(jestPackages, 'jest-environment-node'),
  },
}

const made = new Map<TestRunner, string>()

/** Removes what `packagesFor` has made. */
export function removePackages(runner: TestRunner): void {
  const directory = made.get(runner)
  made.delete(runner)
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
}

/**
 * Makes a `node_modules` with stint and a runner, as `npm install` does. stint is copied, so that its code
 * does not find the packages of this project. All tests of a file share the copy, because it takes longer
 * than some of them.
 */
export function packagesFor(runner: TestRunner): string {
  const directory = made.get(runner) ?? install(runner)
  made.set(runner, directory)
  return join(directory, 'node_modules')
}

function install(runner: TestRunner): string {
  const packages = Object.entries(beside[runner])
  for (const [, target] of packages)
    if (!existsSync(target)) throw new Error(`${target} is missing: run node scripts/test-tools.mjs`)
  const directory = realpathSync(mkdtempSync(join(openToAll, 'stint-packages-')))
  const modules = join(directory, 'node_modules')
  const stint = join(modules, 'stint')
  mkdirSync(stint, { recursive: true })
  for (const name of ['dist', 'package.json']) copyPrograms(join(projectRoot, name), join(stint, name))
  for (const [name, target] of packages) symlinkSync(target, join(modules, name))
  return directory
}
