import { openRunRoot } from '../run-root.ts'

/** For `globalSetup`: one scratch for the whole run, `TMPDIR` of all workers. */
export default function setup(): void {
  openRunRoot('jest')
}
