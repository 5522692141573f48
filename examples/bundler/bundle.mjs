#!/usr/bin/env node
import { StintError } from 'stint'
import { defineCommand, runMain } from 'stint/command'
import { bundle } from './bundler.mjs'

await runMain(
  defineCommand({
    name: 'bundle',
    version: '1.0.0',
    summary: 'Joins style sheets into one.',
    positionals: 'FILE…',
    options: {
      name: { type: 'string', value: 'NAME', help: 'what to call the bundle (bundle.css)' },
      keep: { type: 'duration', value: 'D', help: 'how long the bundle is kept for you (5m)' },
      log: { type: 'string', value: 'FILE', help: 'write down what happens' },
    },
    examples: [['bundle --keep 1h styles/*.css', 'prints where the bundle is; it is kept for an hour']],
    // Read before anything is made: a bad command line is exit 2, and nothing has happened.
    settings({ positionals }) {
      if (positionals.length === 0) throw new StintError('ARG_ERROR', 'no files to bundle')
      // Even kill -9 leaves nothing: a guard process cleans up.
      return { guard: true }
    },
    run(ctx, { options: { name, keep, log }, positionals: files }) {
      return bundle(ctx, { files, name, log, keepSeconds: keep && Math.ceil(keep / 1000) })
    },
    render: ({ output_file, files, bytes }) => `${output_file}: ${files} files, ${bytes} bytes`,
  }),
)
