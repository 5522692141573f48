import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { projectRoot } from './world.ts'

/** One import, re-export or `import()` in a source file. Paths are relative to `src/`. */
export interface Import {
  from: string
  to: string
  /** The names as `to` exports them; undefined for `import()` and `import *`, which get all of them. */
  names: readonly string[] | undefined
  /** Whether `from` passes the names on: `export { a } from`. */
  isReexport: boolean
}

const source = join(projectRoot, 'src')

/** All files in these folders of the project with one of these extensions, relative to the project. */
export const filesIn = (folders: readonly string[], extensions: readonly string[]): string[] =>
  folders.flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => extensions.some((extension) => name.endsWith(extension)))
      .filter((name) => !/(^|\/)node_modules\//.test(name))
      .map((name) => join(folder, name)),
  )

/** The production files of `src/`, relative to it. */
export const sourceFiles = (): string[] =>
  filesIn(['src'], ['.ts', '.tsx'])
    .filter((name) => !name.endsWith('.test.ts'))
    .map((name) => relative('src', name))
    .sort()

export const readSource = (file: string): string => readFileSync(join(source, file), 'utf8')

/** Every import from one production file to another, type imports included. */
export const sourceImports = (): Import[] => sourceFiles().flatMap(importsOf)

const importPattern =
  /(?:^|\n)(?:import|export)(?: type)? ((?:\w+, )?\{[^}]*\}|\*(?: as \w+)?|\w+) from '(\.[^']+)'|\b(?:import|require)\('(\.[^']+)'\)|(?:^|\n)import '(\.[^']+)'/g

function importsOf(from: string): Import[] {
  return [...readSource(from).matchAll(importPattern)].map(([whole, names = '', named, lazy, bare]) => ({
    from,
    to: relative(source, join(source, dirname(from), named ?? lazy ?? bare ?? '')),
    names: names.includes('{') ? namesIn(names) : undefined,
    isReexport: /^\n?export\b/.test(whole),
  }))
}

/** The names in `{ a, type B, c as d }`: a, B, and c or d, the name on the inside or on the outside. */
const namesIn = (braces: string, side: 'inside' | 'outside' = 'inside'): string[] =>
  (/\{([^}]*)\}/.exec(braces)?.[1] ?? '')
    .split(',')
    .map((part) =>
      part
        .trim()
        .replace(/^type /, '')
        .replace(side === 'inside' ? / as .*$/ : /^.* as /, ''),
    )
    .filter((name) => name !== '')

/**
 * The files that `file` imports, with the files behind a door for the names that it imports through the door.
 */
export function filesImportedBy(file: string, imports: readonly Import[]): Set<string> {
  const found = new Set<string>()
  const follow = (to: string, names: readonly string[] | undefined): void => {
    found.add(to)
    for (const next of imports.filter(({ from, isReexport }) => from === to && isReexport)) {
      const passedOn = next.names?.filter((name) => names?.includes(name) ?? true)
      if (passedOn === undefined || passedOn.length > 0) follow(next.to, passedOn)
    }
  }
  for (const { from, to, names } of imports) if (from === file) follow(to, names)
  return found
}

const declaration =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type) (\w+)|^export (?:type )?(\{[^}]*\})(?! from)/gm

/** The names that a file declares and exports; those it imports and passes on are not among them. */
export function exportsOf(file: string): string[] {
  const imported = new Set(importsOf(file).flatMap(({ names }) => names ?? []))
  const exported = [...readSource(file).matchAll(declaration)].flatMap(([, name, braces]) =>
    name === undefined ? namesIn(braces ?? '', 'outside').filter((each) => !imported.has(each)) : [name],
  )
  return [...new Set(exported)]
}
