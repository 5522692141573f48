import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StintError } from 'stint'

const worker = fileURLToPath(new URL('transform.mjs', import.meta.url))

/** Transforms every file in a process of its own and joins the results into one file for the caller. */
export async function bundle(ctx, { files, name = 'bundle.css', keepSeconds, log }) {
  const missing = files.find((file) => !existsSync(file))
  if (missing !== undefined) throw new StintError('NOT_FOUND', `no such input: ${missing}`)
  const note = openLog(ctx, log)
  // Aborts on a signal or a timeout. A handler that has asked for it is given the grace to finish.
  const { signal } = ctx

  const parts = await Promise.all(
    files.map(async (file, index) => {
      note(`transforming ${file}`)
      const part = await transform(ctx, file, ctx.scratch.file(`parts/${index}-${basename(file)}`))
      if (part === '') ctx.warn(`${file} is empty`)
      return part
    }),
  )

  // Stopped: there is nobody to hand a bundle to.
  signal.throwIfAborted()
  const content = parts.join('')
  // The scratch goes when the run ends; an output stays, and the answer says for how long.
  const output = ctx.scratch.output(name, { content, keepSeconds })
  note('bundled')
  return { output_file: output, files: files.length, bytes: Buffer.byteLength(content) }
}

async function transform(ctx, input, output) {
  // Recorded, and ended with the run: no worker is left behind, however the run ends.
  const child = await ctx.spawn(process.execPath, [worker, input, output], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const { code } = await child.exited
  if (code !== 0) throw new StintError('CHILD_FAILED', `could not transform ${input}`)
  return readFileSync(output, 'utf8')
}

function openLog(ctx, path) {
  if (path === undefined) return () => {}
  const log = openSync(path, 'w')
  const note = (line) => writeSync(log, `${line}\n`)
  // Runs on success, failure, timeout and signal alike, so the log always ends with this line.
  ctx.onCleanup(() => {
    note('closed')
    closeSync(log)
  })
  return note
}
