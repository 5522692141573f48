import { execFileSync } from 'node:child_process'

/** What `du` says that the disk has lost to trees, in bytes. */
export const du = (...paths: string[]): number =>
  Number.parseInt(
    execFileSync('du', ['-sc', '--block-size=1', ...paths], { encoding: 'utf8' })
      .trimEnd()
      .split('\n')
      .at(-1) ?? '',
  )
