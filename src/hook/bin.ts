import { fstatSync, statSync } from 'node:fs'
import { deliver } from '../base/process/write-output.ts'
import { answer, type LoadRecord } from './main.ts'

const loadRecord: LoadRecord = () => require('./hook-record.cjs') as ReturnType<LoadRecord>

const { stdout, stderr, code, unheard, typical } = answer(process.argv.slice(2), process.env, loadRecord)
deliver(2, stderr)
const heard = deliver(1, stdout) === 'written'
process.exitCode = code === unheard || (heard && !isNowhere(1)) ? code : unheard

/** For the launcher: the code that is compiled by now is what the next call needs. */
export const worthKeeping = typical === true

/** Node opens /dev/null in place of an output that is closed: what is written there is lost, too. */
function isNowhere(fd: number): boolean {
  try {
    return fstatSync(fd).rdev === statSync('/dev/null').rdev
  } catch {
    return false
  }
}
