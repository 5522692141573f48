import { lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createScratch } from '../../scratch/index.ts'
import type { Check } from '../health/check.ts'
import { tryFiles } from './file-trial.ts'
import { judgeFiles, judgeListing } from './judge-trials.ts'
import { tryListing } from './listing-trial.ts'
import { inTrialDirectory, nearestDirectory } from './trial-directory.ts'

/** What the home must be able to do, tried there, or where it would be made. */
export async function tryHome(home: string): Promise<{ checks: Check[]; fileTime: number }> {
  return inTrialDirectory(nearestDirectory(home), async (directory) => {
    const files = judgeFiles('home', tryFiles(directory))
    mkdirSync(join(directory, 'now'))
    const fileTime = lstatSync(join(directory, 'now')).mtimeMs
    const usable = files.level !== 'fail'
    return { checks: usable ? [files, judgeListing(await tryListing(directory))] : [files], fileTime }
  })
}

/** The same for the temp directory, in a scratch as any run has it. */
export function tryTemp(): Check {
  const scratch = createScratch({ command: 'stint doctor' })
  try {
    return judgeFiles('temp', tryFiles(scratch.dir('trial')))
  } finally {
    scratch.remove()
  }
}
