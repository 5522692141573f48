import { readFileSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join, posix } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { version } from '../src/cli/stint.ts'
import { filesOf, manifest, PackageConsumer, peers } from './support/package-consumer.ts'
import { promised, specifier } from './support/package-promises.ts'
import { projectRoot } from './support/world.ts'

const consumer = new PackageConsumer()
beforeAll(() => consumer.unpack())
afterAll(() => consumer[Symbol.asyncDispose]())

test('the version the binary prints is the version of the package', () => {
  expect(version).toBe(manifest.version)
})

test('the tarball contains only what `files` lists, and no tests', () => {
  const always = new Set(['package.json', 'README.md', 'LICENSE'])
  const listed = (path: string): boolean =>
    always.has(path) || manifest.files.some((entry) => path === entry || path.startsWith(`${entry}/`))
  const paths = consumer.packed.files.map(({ path }) => path)
  expect(paths.filter((path) => !listed(path))).toEqual([])
  const own = paths.filter((path) => !path.startsWith('examples/'))
  expect(own.filter((path) => /\.test\.|\.tsbuildinfo$|(^|\/)(test|fixtures|src)\//.test(path))).toEqual([])
})

test('the tarball is small', () => {
  expect(consumer.packed.files.length).toBeLessThanOrEqual(200)
  expect(statSync(consumer.tarball).size).toBeLessThanOrEqual(1_200_000)
})

test('everything that `files` lists is in the tarball, and the readme and the license', () => {
  const paths = consumer.packed.files.map(({ path }) => path)
  const isThere = (entry: string): boolean =>
    paths.some((path) => path === entry || path.startsWith(`${entry}/`))
  const listed = manifest.files.filter((entry) => !entry.startsWith('!'))
  expect([...listed, 'README.md', 'LICENSE'].filter((entry) => !isThere(entry))).toEqual([])
})

test('every relative link in a page of the tarball leads to a file in the tarball', () => {
  const paths = new Set(consumer.packed.files.map(({ path }) => path))
  const pages = [...paths].filter((path) => path.endsWith('.md'))
  expect(pages).toContain('README.md')
  const broken = pages.flatMap((page) =>
    [...readFileSync(consumer.installed(page), 'utf8').matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => !paths.has(posix.join(posix.dirname(page), target)))
      .map((target) => `${page} links to ${target}`),
  )
  expect(broken).toEqual([])
})

test('the package has no script about which npm would warn everybody who installs it', () => {
  const { scripts } = JSON.parse(readFileSync(consumer.installed('package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const run = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish']
  expect(run.filter((name) => name in scripts)).toEqual([])
})

test('the tarball contains no compiled code of this machine', () => {
  expect(consumer.packed.files.filter(({ path }) => path.includes('.cache'))).toEqual([])
})

test('no file in the tarball contains a path of this machine, or names a missing source map', () => {
  const paths = consumer.packed.files.map(({ path }) => path)
  const suspicious = paths.filter((path) => {
    const text = readFileSync(consumer.installed(path), 'utf8')
    const map = /[#@] sourceMappingURL=(\S+)/.exec(text)?.[1]
    const lostMap = map !== undefined && !paths.includes(posix.join(posix.dirname(path), map))
    return (
      lostMap || [projectRoot, userInfo().homedir].some((here) => here !== '/' && text.includes(`${here}/`))
    )
  })
  expect(suspicious).toEqual([])
})

test('every relative import in dist resolves to a file in the tarball', () => {
  const paths = new Set(consumer.packed.files.map(({ path }) => path))
  const broken = [...paths]
    .filter((path) => /^dist\/.*\.(js|d\.c?ts)$/.test(path))
    .flatMap((path) => {
      const text = readFileSync(consumer.installed(path), 'utf8')
      const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(
        ([, target = '']) => target,
      )
      const targets = imports.map((target) => posix.join(posix.dirname(path), target))
      // A declaration file imports source files; the compiler resolves them to their declarations.
      const files = /\.d\.c?ts$/.test(path)
        ? targets.map((target) => target.replace(/\.[jt]s$/, '.d.ts'))
        : targets
      return files.filter((target) => !paths.has(target)).map((target) => `${path} imports ${target}`)
    })
  expect(broken).toEqual([])
})

test('an entry point imports no other package except its peers', () => {
  const importsIn = (path: string): string[] => {
    const text = readFileSync(consumer.installed(path), 'utf8')
    return [...text.matchAll(/(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)].map(([, target = '']) => target)
  }
  const files = new Set(
    Object.values(manifest.exports)
      .flatMap(filesOf)
      .filter((path) => path.endsWith('.js'))
      .map((path) => posix.normalize(path)),
  )
  for (const path of files)
    for (const target of importsIn(path))
      if (target.startsWith('.')) files.add(posix.join(posix.dirname(path), target))
  const isPackage = (target: string): boolean =>
    /^(@[\w-]+\/)?[a-z][\w./-]*$/.test(target) &&
    !/^(node:|pg$|vitest|jest-)/.test(target) &&
    !(target in peers)
  const packages = [...files].flatMap(importsIn).filter(isPackage)
  expect(packages).toEqual([])
})

test('exports, bin and dist agree', () => {
  const paths = new Set(consumer.packed.files.map(({ path }) => `./${path}`))
  const targets = Object.values(manifest.exports).flatMap(filesOf)
  const bins = Object.values(manifest.bin).map((path) => `./${path}`)
  expect([...targets, ...bins].filter((target) => !paths.has(target))).toEqual([])
  for (const bin of bins) {
    expect(statSync(join(projectRoot, bin)).mode & 0o111).toBe(0o111)
    expect(readFileSync(consumer.installed(bin), 'utf8')).toMatch(/^#!\/(usr\/bin\/env node|bin\/sh)\n/)
  }
})

test('every subpath can be imported, prints nothing, and exports exactly the documented names', async () => {
  expect(Object.keys(manifest.exports).sort()).toEqual(Object.keys(promised).sort())
  consumer.linkPeers()
  const plain = Object.entries(promised).flatMap(([subpath, names]) =>
    names === 'in its runner' ? [] : [[subpath, names] as const],
  )
  const modules = plain.map(([subpath, names]) => {
    const options = names === 'JSON' ? `, { with: { type: 'json' } }` : ''
    return `${JSON.stringify(subpath)}: Object.keys(await import('${specifier(subpath)}'${options}))`
  })
  const source = `process.stdout.write(JSON.stringify({ ${modules.join(', ')} }))`
  const { stdout, stderr } = await consumer.node('imports.js', source)
  expect(stderr).toBe('')
  const expected = plain.map(([subpath, names]) => [subpath, names === 'JSON' ? ['default'] : names])
  expect(JSON.parse(stdout)).toEqual(Object.fromEntries(expected))
})

test('the subpaths for CommonJS test files can be required', async () => {
  const source = `console.log(require.resolve('stint/jest'), Object.keys(require('stint/jest')))`
  const { stdout, stderr } = await consumer.node('require.cjs', source)
  expect(stdout).toBe(`${consumer.installed('dist/lib/jest/index.cjs')} [ 'scratch' ]\n`)
  expect(stderr).toBe('')
})

test('a file that is not exported cannot be imported', async () => {
  const { code, stderr } = await consumer.node(
    'inside.js',
    `await import('${manifest.name}/dist/lib/chunks/core.js')`,
  )
  expect(code).toBe(1)
  expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED')
})

test('publint finds no problem with the tarball', async () => {
  const bytes = readFileSync(consumer.tarball)
  const archive = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
  const { messages, pkg } = await publint({ pack: { tarball: archive }, strict: true })
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
})
