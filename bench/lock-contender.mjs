// One of several processes that contend for a lock: takes it COUNT times, and holds it for a moment each
// time. argv: kind, directory, library, count, microseconds to hold. Prints `ready`; starts at the first byte
// on stdin. At its end it prints how long it waited each time, and its CPU time, both in nanoseconds.
import { readSync } from 'node:fs'
import { lockKinds } from './lock-kinds.mjs'

const [kind, directory, library, count, holdUs] = process.argv.slice(2)
const take = await lockKinds[kind](directory, library, `contender-${process.pid}`)
process.stdout.write('ready\n')
readSync(0, Buffer.alloc(1))

const cell = new Int32Array(new SharedArrayBuffer(4))
const waits = []
const cpuBefore = process.cpuUsage()
let wantedAt = process.hrtime.bigint()
while (waits.length < Number(count)) {
  const taken = take()
  const release = taken instanceof Promise ? await taken : taken
  if (release === undefined) {
    // For every kind of lock the same short, random pause, so that the processes do not run in step.
    Atomics.wait(cell, 0, 0, 0.05 + Math.random() * 0.4)
    continue
  }
  const takenAt = process.hrtime.bigint()
  waits.push(Number(takenAt - wantedAt))
  const until = takenAt + BigInt(holdUs) * 1000n
  while (process.hrtime.bigint() < until);
  const released = release()
  if (released instanceof Promise) await released
  wantedAt = process.hrtime.bigint()
}
const { user, system } = process.cpuUsage(cpuBefore)
process.stdout.write(`${JSON.stringify({ waits, cpu: (user + system) * 1000 })}\n`, () => process.exit(0))
