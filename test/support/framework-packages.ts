import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyPrograms } from './copy-tree.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const modules = join(root, 'test/frameworks/node_modules')

/** The agent frameworks that are installed apart, because they are large: where each is. */
export const frameworkPackages: Readonly<Record<string, string>> = Object.fromEntries(
  ['@anthropic-ai/claude-agent-sdk', '@openai/agents-core'].map((name) => [name, join(modules, name)]),
)

/**
 * Makes a project with stint and the frameworks installed, as a user has it. stint is copied: linked, its
 * code would look for the frameworks in this project.
 */
export function installFrameworks(project: string): void {
  const stint = join(project, 'node_modules/stint')
  mkdirSync(stint, { recursive: true })
  for (const name of ['dist', 'package.json']) copyPrograms(join(root, name), join(stint, name))
  const others = { zod: join(modules, 'zod'), '@langchain': join(root, 'node_modules/@langchain') }
  for (const [name, target] of Object.entries({ ...frameworkPackages, ...others })) {
    if (!existsSync(target)) throw new Error(`${target} is missing: run node scripts/test-tools.mjs`)
    const place = join(project, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(target, place)
  }
}
