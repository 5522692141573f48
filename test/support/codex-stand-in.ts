import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '../../src/base/text/escape.ts'
import { projectRoot } from './world.ts'

/** Puts a program named `codex` into a directory of PATH. */
export const plantCodex = (bin: string, script: string): void =>
  writeFileSync(join(bin, 'codex'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })

/** Makes a `codex` that says whether it trusts the hook before a tool call, and the other one. */
export const trustingCodex = (bin: string, hooksFile: string, ...trust: string[]): void =>
  plantCodex(bin, `exec ${[process.execPath, standIn, hooksFile, ...trust].map(shellWord).join(' ')} "$@"`)

const standIn = join(projectRoot, 'test/fixtures/codex/codex.mjs')
