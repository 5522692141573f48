import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { frameworkPackages } from './framework-packages.ts'
import { type Finished, projectRoot, World } from './world.ts'

type Target = string | { [condition: string]: Target }

export interface Manifest {
  name: string
  version: string
  files: string[]
  bin: Record<string, string>
  exports: Record<string, Target>
  dependencies?: Record<string, string>
}

export interface Packed {
  filename: string
  files: { path: string; mode: number }[]
}

export const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as Manifest

/** Every file that `exports` or `bin` in package.json names, as `./dist/…`. */
export function filesOf(target: Target): string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(filesOf)
}

const installed = (name: string): string => join(projectRoot, 'node_modules', name)

/** The packages that some subpaths need, and where these tests have them. */
export const peers: Readonly<Record<string, string>> = {
  ...frameworkPackages,
  '@langchain/core': installed('@langchain/core'),
  '@langchain/langgraph-checkpoint': installed('@langchain/langgraph-checkpoint'),
  vitest: installed('vitest'),
}

/** Variables that `npm test` sets; an npm started by a test must not see them. */
const npmSettings = Object.keys(process.env).filter((name) => /^(npm_|INIT_CWD$)/i.test(name))

/** A project with the packed package installed, outside of this repository. */
export class PackageConsumer extends World {
  readonly path = join(this.tmp, 'consumer')
  tarball = ''
  packed: Packed = { filename: '', files: [] }
  /** The packages that `npm install` has installed. */
  dependencies: string[] = []

  constructor() {
    super(Object.fromEntries(npmSettings.map((name) => [name, undefined])))
    const home = join(this.tmp, 'user')
    mkdirSync(home)
    mkdirSync(this.path)
    Object.assign(this.env, {
      HOME: home,
      npm_config_cache: join(home, 'npm-cache'),
      npm_config_offline: 'true',
      npm_config_ignore_scripts: 'true',
      npm_config_update_notifier: 'false',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
    })
    writeFileSync(join(this.path, 'package.json'), '{"name": "consumer", "private": true, "type": "module"}')
  }

  /** Installs the package without npm, where npm would put it. */
  async unpack(): Promise<void> {
    await this.#pack()
    const place = this.installed('.')
    mkdirSync(place, { recursive: true })
    const args = ['-xzf', this.tarball, '--strip-components', '1', '-C', place]
    succeeded(await this.run('tar', args))
  }

  /** Makes the peers available, as a user installs them. */
  linkPeers(): void {
    for (const [name, target] of Object.entries(peers)) {
      const place = join(this.path, 'node_modules', name)
      mkdirSync(dirname(place), { recursive: true })
      symlinkSync(target, place)
    }
  }

  async install(): Promise<void> {
    await this.#pack()
    succeeded(await this.run('npm', ['install', this.tarball]))
    this.dependencies = readdirSync(join(this.path, 'node_modules')).filter((name) => !name.startsWith('.'))
  }

  async #pack(): Promise<void> {
    const pack = ['pack', '--json', '--pack-destination', this.tmp]
    const { stdout } = succeeded(await this.start('npm', pack, { cwd: projectRoot }).finished)
    ;[this.packed] = JSON.parse(stdout) as [Packed]
    this.tarball = join(this.tmp, this.packed.filename)
  }

  run(command: string, args: readonly string[]): Promise<Finished> {
    return this.start(command, args, { cwd: this.path }).finished
  }

  /** Runs a program in this project. */
  node(file: string, source: string): Promise<Finished> {
    writeFileSync(join(this.path, file), source)
    return this.run(process.execPath, ['--no-warnings', file])
  }

  /** The path of a file in the installed package. */
  installed(path: string): string {
    return join(this.path, 'node_modules', manifest.name, path)
  }
}

export function succeeded(finished: Finished): Finished {
  if (finished.code === 0) return finished
  throw new Error(`exit ${finished.code}: ${finished.stderr}${finished.stdout}`)
}
