import { withHomeErrors } from '../../base/fs/home.ts'
import type { Check } from './check.ts'
import { judgeDirectory, readDirectory } from './directory.ts'

/** Can the home be used, or be made where it is not there yet? */
export const checkHome = (home: string): Check =>
  withHomeErrors(home, 'look at the home', () => judgeDirectory('home', readDirectory(home)))
