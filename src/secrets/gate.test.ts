import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../test/support/any-character.ts'
import { SecretGate } from './gate.ts'

const ref = { kind: 'env', name: 'X_TOKEN' } as const
const masked = '<secret:env:X_TOKEN>'

function gateFor(...values: string[]): SecretGate {
  const gate = new SecretGate()
  values.forEach((value, index) =>
    gate.register(index === 0 ? ref : { kind: 'env', name: `T${index}` }, value),
  )
  return gate
}

const secret = 'p&ss "wörd"/1+1=2\\n<x>\'~ *(!)'
const json = (text: string): string => JSON.stringify(text).slice(1, -1)
const form = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

/** The forms of docs/secrets.md, but base64 with neighbours, made by Node. */
const encodings: [name: string, encode: (text: string) => string][] = [
  ['as it is', (text) => text],
  ['in JSON', json],
  ['in JSON in JSON', (text) => json(json(text))],
  ['by encodeURIComponent', encodeURIComponent],
  ['by URLSearchParams', form],
  ['in base64url', (text) => Buffer.from(text).toString('base64url')],
  ['in hex', (text) => Buffer.from(text).toString('hex')],
  ['in upper case hex', (text) => Buffer.from(text).toString('hex').toUpperCase()],
]

test.each(encodings)('a secret %s is replaced in strings and keys at every depth', (_, encode) => {
  const gate = gateFor(secret)
  const written = encode(secret)
  expect(gate.text(`a ${written} b`)).toBe(`a ${masked} b`)
  expect(gate.stringify({ [`k ${written}`]: [1, { deep: `v=${written}` }], [written]: null })).toBe(
    JSON.stringify({ [`k ${masked}`]: [1, { deep: `v=${masked}` }], [masked]: null }),
  )
  expect(() => gate.assertClean(`x${written}`, 'the title')).toThrow(
    expect.objectContaining({ code: 'SECRET_LEAK' }),
  )
  expect(() => gate.assertClean(Buffer.from(JSON.stringify([written])), 'x')).toThrow('env:X_TOKEN')
})

test.each(['', 'a', 'ab', 'abc', 'user:'])(
  'a secret in base64 is found after %j, whatever follows it',
  (before) => {
    // Values whose base64 has and has not the characters that differ in the URL alphabet.
    for (const secret of ['hunter2 is it', 'hunter2?>~?>~?', 'six6by', 'öüöüß¿¿¿']) {
      const gate = gateFor(secret)
      for (const after of ['', 'z', 'zz', 'zzz']) {
        const base64 = Buffer.from(before + secret + after).toString('base64')
        for (const text of [base64, base64.replaceAll('+', '-').replaceAll('/', '_')]) {
          const rest = gate.text(text)
          expect(rest).toContain(masked)
          // Only characters of the neighbours are left.
          expect(rest.replace(masked, '').replaceAll('=', '').length).toBeLessThanOrEqual(12)
          expect(() => gate.assertClean(text, 'x')).toThrow('env:X_TOKEN')
        }
      }
    }
  },
)

test('base64 characters that a secret shares with its neighbours are removed with it', () => {
  const gate = gateFor('hunter2')
  const rest = (text: string): string => gate.text(Buffer.from(text).toString('base64'))
  expect(rest('ahunter2')).toBe(`Y${masked}=`)
  expect(rest('abhunter2')).toBe(`YW${masked}`)
  expect(rest('hunter2')).toBe(`${masked}==`)
  expect(rest('hunter2zz')).toBe(`${masked}p6`)
})

test('a secret of digits is replaced in JSON numbers, too', () => {
  const gate = gateFor('123456', '1234.56789')
  expect(gate.stringify({ a: 123456, b: [-123456, '123456'], 123456: 1, c: 1234.56789 })).toBe(
    `{"${masked}":1,"a":"${masked}","b":["-${masked}","${masked}"],"c":"<secret:env:T1>"}`,
  )
})

test('a secret of a few digits is only found where no digit stands beside it', () => {
  const gate = gateFor('171234')
  expect(gate.stringify({ at: 1712345678901, id: 'a171234', b: '0171234', c: '171234.5', d: 0.171234 })).toBe(
    `{"at":1712345678901,"id":"a${masked}","b":"0171234","c":"${masked}.5","d":"0.${masked}"}`,
  )
  expect(gate.text('pin%20171234')).toBe(`pin%20${masked}`)
  const long = gateFor('1712345678901234')
  expect(long.text('0017123456789012345')).toBe(`00${masked}5`)
})

test('the final check allows a secret of digits as the number of a field, but not in a string', () => {
  const gate = gateFor('123456')
  gate.assertClean('{"seq":123456,"at":1712345678901,"data":{}}', 'a record')
  for (const text of ['{"a":"123456"}', '{"a":[123456]}', '123456', '{"123456":1}', '":123456']) {
    expect(() => gate.assertClean(text, 'a record')).toThrow('env:X_TOKEN')
  }
  expect(() => gateFor('1234567890123456').assertClean('{"a":1234567890123456}', 'x')).toThrow('env:X_TOKEN')
  expect(() => gateFor('letters').assertClean('{"a":letters}', 'x')).toThrow('env:X_TOKEN')
})

test('each long line of a multi-line secret is a secret of its own', () => {
  const gate = gateFor('first line is long\r\n  second line is long  \nshort\n================')
  expect(gate.text('> first line is long\n> second line is long\n> short\n================')).toBe(
    `> ${masked}\n> ${masked}\n> short\n================`,
  )
  expect(gate.text(Buffer.from('the second line is long').toString('hex'))).toContain(masked)
  expect(gate.text('a first line is long\r\n  second line is long  \nshort\n================ b')).toBe(
    `a ${masked} b`,
  )
  expect(gate.text('a first line is long\n  second line is long  \nshort\n================ b')).toContain(
    masked,
  )
})

test('a value of more than 100 lines is found as a whole, but not by its lines', () => {
  const lines = Array.from({ length: 101 }, (_, index) => `line number ${index} of a secret`)
  const gate = gateFor(lines.join('\n'))
  expect(gate.text(`(${lines.join('\n')})`)).toBe(`(${masked})`)
  expect(gate.text('> line number 50 of a secret')).toBe('> line number 50 of a secret')
})

test('a secret of 64 KiB is accepted, a larger one is refused', () => {
  const secret = Array.from({ length: 8192 }, (_, index) =>
    (index * 7919 + 10_000_000).toString(36).padEnd(7, 'x'),
  ).join(' ')
  const gate = gateFor(secret.slice(0, 64 << 10))
  for (const [, encode] of encodings)
    expect(gate.stringify([`<${encode(secret.slice(0, 64 << 10))}>`])).toBe(`["<${masked}>"]`)
  expect(() => gateFor(`${secret}xx`)).toThrow(expect.objectContaining({ code: 'SECRET_UNSUPPORTED' }))
})

test('where secrets overlap, nothing of either is left, and the placeholder names the longer one', () => {
  const gate = gateFor('abcdefgh', 'efghijklmn', 'cdefgh')
  expect(gate.text('xabcdefghijklmny')).toBe('x<secret:env:T1>y')
  expect(gate.text('xabcdefghy')).toBe(`x${masked}y`)
  expect(gate.text('abcdefghabcdefgh')).toBe(masked + masked)
  expect(gateFor('abcabc').text('abcabcabc.')).toBe(`${masked}.`)
})

test('a placeholder never contains a secret', () => {
  const gate = new SecretGate()
  gate.register({ kind: 'file', name: '/run/database' }, 'hunter2hunter2')
  gate.register({ kind: 'env', name: 'DB_PASSWORD' }, 'database')
  gate.register({ kind: 'env', name: 'OTHER' }, 'github-token')
  expect(gate.text('hunter2hunter2 is for database')).toBe('<secret> is for <secret:env:DB_PASSWORD>')
  expect(gate.text(`gh${'p_'}${'a1'.repeat(18)}`)).toBe('<masked>')
  // The placeholder and the text before it form a secret again: in the end, nothing of the text is kept.
  const nasty = gateFor('abcdef', 'x<secret:env:X_TOKEN>')
  expect(nasty.text('xabcdef')).toBe('<secret:env:T1>')
  const endless = gateFor('abcdef', 'x<secret:env', 'xx<sec')
  expect(endless.text(`${'x'.repeat(40)}abcdef`)).not.toMatch(/x<secret:env|xx<sec|abcdef/)
})

test.each(['', 'short', 'äö', '12345', '  abc    '])('%j is refused as too short', (value) => {
  const gate = new SecretGate()
  expect(() => gate.register(ref, value)).toThrow(expect.objectContaining({ code: 'SECRET_TOO_SHORT' }))
  expect(gate.size).toBe(0)
})

test.each([
  'secret',
  'masked',
  '<secret>',
  '"type"',
  '"type":"',
  '","data":',
  'session',
  'closed',
  'X_TOKEN',
  'env:X_TOKEN',
  '------',
  '000000',
  'ababab',
  '"},{"":',
  '":"","',
  'session_id',
])('%j is refused: every session writes it, or it is monotonous', (value) => {
  const gate = new SecretGate()
  expect(() => gate.register(ref, value)).toThrow(expect.objectContaining({ code: 'SECRET_UNSUPPORTED' }))
  expect(gate.size).toBe(0)
  expect(gate.stringify({ value })).toBe(JSON.stringify({ value }))
})

test('no error contains the value', () => {
  const gate = gateFor('hunter2hunter2')
  const attempts = [
    () => gate.assertClean('hunter2hunter2', 'the title'),
    () => gate.register(ref, 'abcde'),
    () => gate.register(ref, 'session_id'),
    () => gate.register({ kind: 'env', name: 'a\nb' }, 'another one'),
  ]
  for (const attempt of attempts) {
    let thrown: unknown
    try {
      attempt()
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(Error)
    expect(JSON.stringify([thrown, String(thrown), (thrown as Error).stack])).not.toMatch(
      /hunter2hunter2|abcde|session_id|another/,
    )
  }
})

test('a value is trimmed, and registering it twice changes nothing', () => {
  const gate = gateFor('  hunter2hunter2\n')
  gate.register({ kind: 'env', name: 'AGAIN' }, 'hunter2hunter2')
  expect(gate.size).toBe(1)
  expect(gate.text('(hunter2hunter2)')).toBe(`(${masked})`)
})

test('a secret registered later is removed from then on, also from the placeholders of other secrets', () => {
  const gate = gateFor('hunter2hunter2')
  expect(gate.text('hunter2hunter2, correct horse')).toBe(`${masked}, correct horse`)
  gate.register({ kind: 'env', name: 'LATER' }, 'correct horse')
  expect(gate.text('hunter2hunter2, correct horse')).toBe(`${masked}, <secret:env:LATER>`)
  gate.register({ kind: 'env', name: 'LAST' }, 'X_TOKE')
  expect(gate.text('hunter2hunter2')).toBe('<secret>')
  expect(gate.size).toBe(3)
})

test('a secret without letters or digits is found', () => {
  const gate = gateFor('!"§$%&/()=?')
  for (const text of ['!"§$%&/()=?', encodeURIComponent('!"§$%&/()=?'), json(json('!"§$%&/()=?'))]) {
    expect(gate.stringify({ text })).toBe(JSON.stringify({ text: masked }))
  }
})

test('a secret with a lone surrogate is found', () => {
  const gate = gateFor('hunter\ud83dhunter')
  expect(gate.stringify(['hunter\ud83dhunter'])).toBe(JSON.stringify([masked]))
})

test('invalid UTF-8 beside a secret does not hide it', () => {
  const gate = gateFor('hunter2hunter2', 'ünïcödé')
  for (const text of ['hunter2hunter2', 'ünïcödé']) {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xe2, 0x82]), Buffer.from(text), Buffer.from([0xc3])])
    expect(() => gate.assertClean(new Uint8Array(bytes), 'x')).toThrow(
      expect.objectContaining({ code: 'SECRET_LEAK' }),
    )
  }
  gate.assertClean(Buffer.from([0xff, 0x00]), 'x')
})

test('errors of JSON.stringify are thrown, and undefined becomes null', () => {
  const gate = gateFor('hunter2hunter2')
  const loop: Record<string, unknown> = {}
  loop['loop'] = loop
  expect(() => gate.stringify(loop)).toThrow(TypeError)
  expect(() => gate.stringify(1n)).toThrow(TypeError)
  expect(gate.stringify(undefined)).toBe('null')
  expect(gate.stringify({ at: new Date(0), to: { toJSON: () => 'hunter2hunter2' }, f: () => 1 })).toBe(
    `{"at":"1970-01-01T00:00:00.000Z","to":"${masked}"}`,
  )
})

const blank = new SecretGate()
const loaded = gateFor(secret, '171234567', 'correct horse battery', 'Zq8vLx02mPnR')

test('a value without secrets is written exactly as JSON.stringify writes it', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true, withDate: true }), (value) => {
      const plain = JSON.stringify(value) ?? 'null'
      expect(blank.stringify(value)).toBe(plain)
      expect(loaded.stringify(value)).toBe(plain)
    }),
  )
})

/** The structure of a value without its strings, keys and numbers: the gate must not change it. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value === 'object' && value !== null) return Object.values(value).map(shapeOf)
  return typeof value === 'string' || typeof value === 'number' ? '' : value
}

const secrets = fc
  .oneof(
    fc.string({ minLength: 6, maxLength: 40 }),
    fc.string({ unit: anyCharacter, minLength: 6, maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(...'ab1"\\/%+&= \n\'<é'), minLength: 6, maxLength: 20 }),
    fc.stringMatching(/^[A-Za-z0-9_-]{20,60}$/),
    fc.stringMatching(/^\d{6,30}$/),
    fc.stringMatching(/^[A-Za-z]{300,400}$/),
    fc.stringMatching(/^[A-Za-z0-9+/ ]{16,30}\n[A-Za-z0-9+/ ]{16,30}$/),
  )
  .map((value) => value.trim())
  .filter((value) => {
    try {
      gateFor(value)
      return true
    } catch {
      return false
    }
  })

const encoder = fc.constantFrom(
  ...encodings.map(([, encode]) => encode),
  ...['', 'a', 'ab'].map((before) => (text: string) => Buffer.from(`${before}${text}z`).toString('base64')),
)
const beside = fc.constantFrom('', ' ', 'a=', '"', '\n', 'Bearer ', '%20', '{"k":"', '\\n', 'é', '.')

test('any secret in any encoding at any place is removed, and the value keeps its structure', () => {
  fc.assert(
    fc.property(secrets, encoder, beside, beside, fc.jsonValue(), (value, encode, before, after, other) => {
      const gate = gateFor(value)
      const planted = encode(value)
      const text = before + planted + after
      const tree = { [text]: 1, list: [other, text, { [`k${text}`]: text }], plain: value }
      const result = gate.stringify(tree)
      expect(shapeOf(JSON.parse(result))).toEqual(shapeOf(JSON.parse(JSON.stringify(tree))))
      const strings: string[] = []
      JSON.parse(result, (key, each: unknown) =>
        strings.push(key, typeof each === 'object' ? '' : String(each)),
      )
      for (const each of strings) {
        expect(each).not.toContain(value)
        expect(each).not.toContain(planted)
        expect(Buffer.from(each, 'base64').toString('latin1')).not.toContain(
          Buffer.from(value).toString('latin1'),
        )
      }
      gate.assertClean(result, 'the result')
      expect(gate.stringify(JSON.parse(result))).toBe(result)
    }),
    { numRuns: 1000 },
  )
})
