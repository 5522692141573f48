// Measures stint, floors and peers together, round by round. See README.md.
import { readArguments } from './arguments.mjs'
import { loadCases } from './cases.mjs'
import { measure } from './harness.mjs'
import { describeMachine, untilIdle } from './machine.mjs'
import { openPlace } from './place.mjs'
import { installPeers, takeStint } from './prepare.mjs'
import { renderCase, renderMachine } from './table.mjs'

const { only, rounds, json, waitIdle } = readArguments()
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
  if (waitIdle) await untilIdle(showWaiting)
  const result = await measure(bench, parts, { rounds: rounds(bench), onRound: showProgress })
  results.push(result)
  if (!json) process.stdout.write(`\n${renderCase(result)}`)
}
if (json) process.stdout.write(`${JSON.stringify({ machine, results }, null, 2)}\n`)

/** On a terminal, shows how busy the machine still is; clears the line when it is idle. */
function showWaiting(busy) {
  if (!process.stderr.isTTY) return
  const line = busy === undefined ? '' : `waiting for an idle machine: ${Math.round(busy * 100)} % busy`
  process.stderr.write(`\r\x1b[K${line}`)
}

/** On a terminal, shows the current round; clears the line after the last one. */
function showProgress(bench, round, rounds) {
  if (!process.stderr.isTTY) return
  process.stderr.write(round < rounds ? `\r\x1b[K${bench.name}: round ${round + 1} of ${rounds}` : '\r\x1b[K')
}
