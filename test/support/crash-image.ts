import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { buildPowerCut } from './build-c.ts'
import { isRoot, type Running, until, type World } from './world.ts'

/**
 * A real ext4 file system in an image, mounted in a namespace of its own and gone with it. It can be cut off
 * from its device at any moment. Copying the image while it is written would not do: the copy would mix
 * blocks of different times.
 */
export class CrashImage {
  readonly #world: World
  readonly #keeper: Running
  readonly #powerCut: string
  readonly #mounted: string
  #image: string
  #copies = 0

  private constructor(world: World, keeper: Running) {
    this.#world = world
    this.#keeper = keeper
    this.#powerCut = buildPowerCut(world.tmp)
    this.#mounted = join(world.tmp, 'disk')
    this.#image = join(world.tmp, 'image-0')
  }

  static async make(world: World, size: string): Promise<CrashImage> {
    if (!isRoot) throw new Error('only root may mount an image')
    const keeper = world.start('unshare', ['--mount', 'sh', '-c', 'echo up; exec sleep infinity'])
    await until('the namespace exists', () => keeper.output().stdout === 'up\n')
    const image = new CrashImage(world, keeper)
    await image.#run(
      `truncate -s ${size} "${image.#image}" && mkfs.ext4 -q "${image.#image}" && mkdir "${image.#mounted}"`,
    )
    await image.#mount()
    return image
  }

  /** The path of the home inside the namespace. */
  get home(): string {
    return join(this.#mounted, 'home')
  }

  /** The path of the home for this process. */
  get homeFromOutside(): string {
    return `/proc/${this.#keeper.pid}/root${this.home}`
  }

  /** The command that starts a program inside the namespace. */
  get within(): string[] {
    return ['nsenter', `--mount=/proc/${this.#keeper.pid}/ns/mnt`]
  }

  /**
   * Returns when the cut began, in nanoseconds of `process.hrtime`: only earlier acknowledgements must hold.
   */
  async cutPower(): Promise<bigint> {
    return BigInt((await this.#run(`"${this.#powerCut}" "${this.#mounted}"`)).trim())
  }

  /** Unmounts the image, and mounts a copy of it as the cut has left it. */
  async comeBack(): Promise<void> {
    const last = this.#image
    this.#image = join(this.#world.tmp, `image-${++this.#copies}`)
    await this.#run(
      `umount "${this.#mounted}" && cp --sparse=always "${last}" "${this.#image}" && rm "${last}"`,
    )
    await this.#mount()
    if (!existsSync(`/proc/${this.#keeper.pid}/root${this.#mounted}/lost+found`))
      throw new Error('it is not mounted')
  }

  async #mount(): Promise<void> {
    await this.#run(`mount -o loop "${this.#image}" "${this.#mounted}"`)
  }

  async #run(script: string): Promise<string> {
    const [command = '', ...args] = [...this.within, 'sh', '-c', script]
    const { code, stdout, stderr } = await this.#world.start(command, args).finished
    if (code !== 0) throw new Error(`${script}: ${stderr}`)
    return stdout
  }
}
