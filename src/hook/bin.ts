import { fstatSync, statSync, writeSync } from 'node:fs'
import { sleep } from '../base/process/sleep.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import { answer, type LoadRecord } from './main.ts'

const loadRecord: LoadRecord = () => require('./hook-record.cjs') as ReturnType<LoadRecord>

const { stdout, stderr, code, unheard, typical } = answer(process.argv.slice(2), process.env, loadRecord)
write(2, stderr)
const heard = write(1, stdout)
process.exitCode = code === unheard || (heard && !isNowhere(1)) ? code : unheard

/** For the launcher: the code that is compiled by now is what the next call needs. */
export const worthKeeping = typical === true

/** False if nobody reads it. */
function write(fd: number, text: string): boolean {
  let rest = Buffer.from(text)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') return false
      sleep(1)
    }
  }
  return true
}

/** Node opens /dev/null in place of an output that is closed: what is written there is lost, too. */
function isNowhere(fd: number): boolean {
  try {
    return fstatSync(fd).rdev === statSync('/dev/null').rdev
  } catch {
    return false
  }
}
