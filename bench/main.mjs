// Measures stint against floors and peers, in one run, round by round. See README.md.
import { readArguments } from './arguments.mjs'
import { loadCases } from './cases.mjs'
import { measure } from './harness.mjs'
import { describeMachine } from './machine.mjs'
import { openPlace } from './place.mjs'
import { installPeers, takeStint } from './prepare.mjs'
import { renderCase, renderMachine } from './table.mjs'

const { only, rounds, json } = readArguments()
const cases = await loadCases(only)
if (cases.length === 0) {
  process.stderr.write(`no bench matches ${only.source}\n`)
  process.exit(2)
}

installPeers()
const place = openPlace()
const parts = { place, stint: await takeStint(place) }

const machine = describeMachine(place)
if (!json) process.stdout.write(renderMachine(machine))
const results = []
for (const bench of cases) {
  const result = await measure(bench, parts, { rounds: rounds(bench), onRound: showProgress })
  results.push(result)
  if (!json) process.stdout.write(`\n${renderCase(result)}`)
}
if (json) process.stdout.write(`${JSON.stringify({ machine, results }, null, 2)}\n`)

/** On a terminal: which round we are in; nothing once the last is done. */
function showProgress(bench, round, rounds) {
  if (!process.stderr.isTTY) return
  process.stderr.write(round < rounds ? `\r\x1b[K${bench.name}: round ${round + 1} of ${rounds}` : '\r\x1b[K')
}
