// Stores whose append is durable when its promise resolves. Each function opens a new one in a directory.
import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(import.meta.url)

/** `append(object)` resolves when it is on disk; `read()` returns the stored objects, after `close()`. */
export const appendKinds = {
  async stint(directory, library) {
    const { filesystemStore } = await import(library)
    const store = filesystemStore({ home: directory })
    const session = await store.create({ tool: 'bench' })
    return {
      append: (data) => session.append({ type: 'message', data }),
      close: () => session.close(),
      async read() {
        const all = []
        for await (const { data } of (await store.inspect(session.id)).events()) all.push(data)
        return all
      },
    }
  },

  /** One transaction for all appends of an event loop turn: the fastest use of SQLite. */
  async 'better-sqlite3 WAL FULL, grouped'(directory) {
    const Database = require('better-sqlite3')
    const database = new Database(join(directory, 'sessions.db'))
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    database.exec('CREATE TABLE journal (seq INTEGER PRIMARY KEY, at INTEGER, type TEXT, data TEXT)')
    const insert = database.prepare('INSERT INTO journal (at, type, data) VALUES (?, ?, ?)')
    const commit = database.transaction((pending) => {
      for (const { json } of pending) insert.run(Date.now(), 'message', json)
    })
    return {
      append: grouped((pending) => commit(pending)),
      close: () => database.close(),
      read() {
        const again = new Database(join(directory, 'sessions.db'), { readonly: true })
        const rows = again.prepare('SELECT data FROM journal ORDER BY seq').all()
        again.close()
        return rows.map(({ data }) => JSON.parse(data))
      },
    }
  },

  async lmdb(directory) {
    const { open } = require('lmdb')
    const database = open({ path: join(directory, 'lmdb'), encoding: 'json' })
    let seq = 0
    return {
      async append(data) {
        await database.put(++seq, { at: Date.now(), type: 'message', data })
        await database.flushed
      },
      close: () => database.close(),
      async read() {
        const again = open({ path: join(directory, 'lmdb'), encoding: 'json' })
        const all = [...again.getRange()].map(({ value }) => value.data)
        await again.close()
        return all
      },
    }
  },

  async 'classic-level sync'(directory) {
    const { ClassicLevel } = require('classic-level')
    const database = new ClassicLevel(join(directory, 'level'), { valueEncoding: 'json' })
    await database.open()
    let seq = 0
    let running
    let pending = []
    const flush = async () => {
      while (pending.length > 0) {
        const batch = pending
        pending = []
        const puts = batch.map(({ key, data }) => ({ type: 'put', key, value: { type: 'message', data } }))
        await database.batch(puts, { sync: true })
        for (const { resolve } of batch) resolve()
      }
      running = undefined
    }
    return {
      append: (data) =>
        new Promise((resolve) => {
          pending.push({ key: String(++seq).padStart(12, '0'), data, resolve })
          running ??= flush()
        }),
      close: () => database.close(),
      async read() {
        await database.open()
        const all = await database.values().all()
        await database.close()
        return all.map(({ data }) => data)
      },
    }
  },

  /** The floor: only the bytes, and one sync for all appends of an event loop turn. */
  async 'raw write + fdatasync, grouped'(directory) {
    const fd = openSync(join(directory, 'raw.log'), 'a')
    const append = grouped((pending) => {
      writeSync(fd, pending.map(({ json }) => `${json}\n`).join(''))
      fdatasyncSync(fd)
    })
    return {
      append,
      close: () => closeSync(fd),
      read: () =>
        readFileSync(join(directory, 'raw.log'), 'utf8')
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line)),
    }
  },
}

function grouped(commit) {
  let pending = []
  const flush = () => {
    const batch = pending
    pending = []
    commit(batch)
    for (const { resolve } of batch) resolve()
  }
  return (data) =>
    new Promise((resolve) => {
      if (pending.length === 0) setImmediate(flush)
      pending.push({ json: JSON.stringify(data), resolve })
    })
}
