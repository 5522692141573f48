// Bundles the declarations that tsc has written: one file for each public entry, and one for what several
// entries share. It relies on how tsc prints: a top-level statement begins in the first column.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Writes the types of each entry. `entries` has the path of its module by its name. */
export function bundleTypes(modules, outdir, entries) {
  const load = loader(modules)
  const wanted = Object.entries(entries).map(([name, path]) => {
    const module = load(`${path}.d.ts`)
    const exported = Object.keys(module.exports).map((as) => ({
      as,
      ...load.resolve(module, module.exports[as]),
    }))
    return { name, comment: module.comment, exported }
  })
  const users = usersOf(wanted, load)
  const fileOf = (declaration) => {
    const [first, second] = users.get(declaration)
    return second === undefined ? first : 'types'
  }
  const names = uniqueNames(users, fileOf)
  const files = new Map()
  for (const declaration of users.keys()) {
    const file = fileOf(declaration)
    files.set(file, [...(files.get(file) ?? []), declaration])
  }
  for (const file of new Set(['types', ...Object.keys(entries)])) {
    const declarations = files.get(file) ?? []
    const entry = wanted.find(({ name }) => name === file)
    const text = printFile({ file, declarations, entry, fileOf, names })
    const path = join(outdir, `${file}.d.ts`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}

/** Parses modules, and finds what their names mean. */
function loader(directory) {
  const parsed = new Map()
  const load = (path) => {
    if (!parsed.has(path)) {
      parsed.set(path, undefined)
      parsed.set(path, parse(path, readFileSync(join(directory, path), 'utf8')))
      addStars(parsed.get(path))
    }
    return parsed.get(path)
  }
  const target = (from, specifier) => join(dirname(from), specifier).replace(/\.[jt]s$/, '.d.ts')
  const addStars = (module) => {
    for (const specifier of module.stars) {
      const other = load(target(module.path, specifier))
      for (const name of Object.keys(other.exports))
        if (name !== 'default') module.exports[name] ??= { specifier, name }
    }
  }
  /** Follows imports to the declaration, or to the package that has it. */
  load.resolve = (module, reference) => {
    if (reference.specifier === undefined) {
      const imported = module.imports[reference.name]
      if (imported !== undefined) return load.resolve(module, imported)
      const declaration = module.declarations[reference.name]
      if (declaration === undefined) throw new Error(`${module.path} has no declaration of ${reference.name}`)
      return { declaration }
    }
    if (!reference.specifier.startsWith('.')) return { package: reference }
    const other = load(target(module.path, reference.specifier))
    const exported = other.exports[reference.name]
    if (exported === undefined) throw new Error(`${other.path} does not export ${reference.name}`)
    return load.resolve(other, exported)
  }
  return load
}

const table = () => Object.create(null)

/** A top-level statement, with the comment before it. */
const statement =
  /^(?:\/\*\*(?:(?!\*\/)[^])*\*\/\n)?(?:export|import|declare|interface|type)\b(?:.*\n(?:[ \t})\]|&].*\n|\n(?=[ \t]))*)/gm

function parse(path, text) {
  const module = {
    path,
    comment: moduleComment(text),
    imports: table(),
    exports: table(),
    declarations: table(),
    stars: [],
  }
  for (const [found] of text.matchAll(statement)) addStatement(module, found)
  return module
}

const moduleComment = (text) => /^\/\*\*(?:(?!\*\/)[^])*@module(?:(?!\*\/)[^])*\*\/\n/.exec(text)?.[0] ?? ''

function addStatement(module, text) {
  const code = text.replace(/^\/\*\*[^]*?\*\/\n/, '')
  const names = /^(import|export)(?: type)? \{([^}]*)\}(?: from ['"]([^'"]+)['"])?/.exec(code)
  const star = /^export (?:type )?\* from ['"]([^'"]+)['"]/.exec(code)
  const byDefault = /^export default (\w+);/.exec(code)
  const declared =
    /^(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:interface|type|class|function|const|let|enum) (\w+)/.exec(
      code,
    )
  if (names !== null) {
    const [, kind, list, specifier] = names
    for (const { name, as } of parseNames(list)) {
      const table = kind === 'import' ? module.imports : module.exports
      table[as] = { specifier, name }
    }
  } else if (star !== null) module.stars.push(star[1])
  else if (byDefault !== null) module.exports.default = { name: byDefault[1] }
  else if (declared !== null) addDeclaration(module, declared[1], text, code)
  else if (!/^import ['"]/.test(code)) throw new Error(`${module.path}: cannot read ${code.slice(0, 80)}`)
}

const parseNames = (list) =>
  list
    .split(',')
    .map((each) => each.trim().replace(/^type /, ''))
    .filter((each) => each !== '')
    .map((each) => {
      const [name, as = name] = each.split(' as ')
      return { name, as }
    })

/** Overloads are several statements with one name. */
function addDeclaration(module, name, printed, code) {
  const text = importInferred(module, printed)
  const declaration = (module.declarations[name] ??= { name, module, text: '' })
  declaration.text += text.replace(/^export default (?=function|class)/m, 'declare ').replace(/^export /m, '')
  if (code.startsWith('export default')) module.exports.default = { name }
  else if (code.startsWith('export')) module.exports[name] = { name }
}

/** Where tsc has inferred a type that the module does not import, it prints `import('./file').Name`. */
const importInferred = (module, text) =>
  text.replace(/import\(['"](\.[^'"]+)['"]\)\.(\w+)/g, (_, specifier, name) => {
    const known = module.imports[name] ?? (module.imports[name] = { specifier, name })
    if (known.name !== name || name in module.declarations)
      throw new Error(`${module.path}: ${name} has two meanings`)
    return name
  })

/** The identifiers in a declaration that its module declares or imports, and what they mean. */
function referencesOf(declaration, load) {
  const { module } = declaration
  const code = declaration.text
    .replace(/\/\*[^]*?\*\//g, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
  const identifiers = new Set(code.match(/[A-Za-z_$][\w$]*/g))
  return [...identifiers]
    .filter((name) => name in module.imports || name in module.declarations)
    .map((name) => ({ name, ...load.resolve(module, { name }) }))
    .filter((found) => found.declaration !== declaration)
}

/** Every declaration that an entry needs, and the entries that need it. */
function usersOf(wanted, load) {
  const users = new Map()
  const visit = (declaration, entry) => {
    const known = users.get(declaration) ?? []
    if (known.includes(entry)) return
    users.set(declaration, [...known, entry])
    declaration.references ??= referencesOf(declaration, load)
    for (const found of declaration.references)
      if (found.declaration !== undefined) visit(found.declaration, entry)
  }
  for (const { name, exported } of wanted)
    for (const { declaration } of exported) if (declaration !== undefined) visit(declaration, name)
  return users
}

/** A name for each declaration, which no other has in its file or in the file that entries share. */
function uniqueNames(users, fileOf) {
  const names = new Map()
  const taken = new Map()
  const isTaken = (file, name) => [file, 'types'].some((each) => taken.get(each)?.has(name))
  const declarations = [...users.keys()]
  const isShared = (declaration) => fileOf(declaration) === 'types'
  for (const declaration of [
    ...declarations.filter(isShared),
    ...declarations.filter((each) => !isShared(each)),
  ]) {
    const file = fileOf(declaration)
    let { name } = declaration
    for (let count = 2; isTaken(file, name); count++) name = `${declaration.name}${count}`
    taken.set(file, (taken.get(file) ?? new Set()).add(name))
    names.set(declaration, name)
  }
  return names
}

function printFile({ file, declarations, entry, fileOf, names }) {
  const imports = new Map()
  const importFrom = (specifier, text) =>
    imports.set(specifier, new Set([...(imports.get(specifier) ?? []), text]))
  const toTypes = `./${relative(dirname(file), 'types')}.js`.replace('./..', '..')
  const bodies = declarations.map((declaration) => {
    for (const found of declaration.references) {
      const { package: external } = found
      if (external !== undefined)
        importFrom(
          external.specifier,
          external.name === found.name ? found.name : `${external.name} as ${found.name}`,
        )
      else if (fileOf(found.declaration) !== file) importFrom(toTypes, names.get(found.declaration))
    }
    return printDeclaration(declaration, names, file === 'types')
  })
  const own = []
  for (const { as, declaration, package: external } of entry?.exported ?? []) {
    const name = declaration === undefined ? external.name : names.get(declaration)
    const exported = name === as ? name : `${name} as ${as}`
    if (declaration === undefined || fileOf(declaration) !== file)
      own.push(`export { ${exported} } from '${external?.specifier ?? toTypes}';`)
    else own.push(`export { ${exported} };`)
  }
  const lines = [...imports].map(
    ([from, set]) => `import type { ${[...set].sort().join(', ')} } from '${from}';`,
  )
  return [
    entry?.comment ?? '',
    ...lines.map((line) => `${line}\n`),
    ...bodies,
    mergeExports(own),
    'export {};\n',
  ].join('')
}

/** Puts the names of one module into one statement. */
function mergeExports(statements) {
  const byEnd = new Map()
  for (const each of statements) {
    const [, name, end] = /^export \{ (.*) \}(.*)$/.exec(each)
    byEnd.set(end, [...(byEnd.get(end) ?? []), name])
  }
  return [...byEnd].map(([end, names]) => `export { ${names.join(', ')} }${end}\n`).join('')
}

function printDeclaration(declaration, names, isExported) {
  const { name, text, references } = declaration
  const renamed = [{ from: name, to: names.get(declaration) }]
  for (const found of references)
    if (found.declaration !== undefined) renamed.push({ from: found.name, to: names.get(found.declaration) })
  const printed = renamed
    .filter(({ from, to }) => from !== to)
    .reduce((current, { from, to }) => rename(current, from, to), text)
  return isExported ? printed.replace(/^(?=(?:declare|interface|type) )/gm, 'export ') : printed
}

/** Renames an identifier where it is a name: not a property, not in a comment. */
const rename = (text, from, to) =>
  text.replace(
    new RegExp(`(\\/\\*[^]*?\\*\\/)|(?<![\\w$.])${from}(?![\\w$]|\\??:)`, 'g'),
    (found, comment) => comment ?? to,
  )
