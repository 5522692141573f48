#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { defineCommand, runMain } from 'stint/command'
import { bundle } from './bundler.mjs'

await runMain(
  defineCommand({
    name: 'bundle',
    // Any parser fits (commander, yargs, …): arguments in, what your handler wants out. What it throws is exit 2.
    // --json, --timeout, --grace and --help are taken out before it sees them.
    parse(argv) {
      const options = { name: { type: 'string' }, log: { type: 'string' } }
      const { values, positionals: files } = parseArgs({ args: argv, allowPositionals: true, options })
      if (files.length === 0) throw new Error('no files to bundle')
      return { ...values, files }
    },
    run: bundle,
  }),
)
