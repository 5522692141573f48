import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { projectRoot } from '../../test/support/world.ts'
import { ulid } from '../base/text/id.ts'
import { SecretGate } from './gate.ts'

/** Token-like characters, the same in every run. */
const noise = (length: number, alphabet = 'Ab3dEf9hIjKlMn0pQrStUv1xYz'): string =>
  Array.from({ length }, (_, index) => alphabet[(index * 7 + (index >> 2)) % alphabet.length]).join('')
const hex = (length: number): string => noise(length, '0a1b2c3d4e5f6789')
const jose = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

// Assembled from parts, so that a secret scanner does not report this file.
const tokens: [kind: string, token: string][] = [
  ['anthropic-key', `sk-${'ant-api03-'}${noise(90)}-AA`],
  ['anthropic-key', `sk-${'ant-oat01-'}${noise(60)}_x`],
  ['openai-key', `sk-${'proj-'}${noise(40)}_${noise(20)}-x`],
  ['openai-key', `sk-${'svcacct-'}${noise(40)}`],
  ['openrouter-key', `sk-${'or-v1-'}${hex(64)}`],
  ['api-key', `sk-${noise(48)}`],
  ['api-key', `sk-${hex(32)}`],
  ...['p', 'o', 'u', 's', 'r'].map((kind): [string, string] => ['github-token', `gh${kind}_${noise(36)}`]),
  ['github-token', `github_${'pat_'}${noise(22)}_${noise(59)}`],
  ['gitlab-token', `gl${'pat-'}${noise(20)}`],
  ['gitlab-token', `gl${'pat-'}${noise(27)}.01.${hex(9)}`],
  ['gitlab-token', `gl${'rt-'}${noise(20)}`],
  ['aws-key-id', `AK${'IA'}${noise(16, 'ABCDEFG234567')}`],
  ['aws-key-id', `AS${'IA'}${noise(16, 'ABCDEFG234567')}`],
  ...['a', 'b', 'p', 'r', 's'].map((kind): [string, string] => [
    'slack-token',
    `xox${kind}-123456789012-${noise(24)}`,
  ]),
  ['slack-token', `xapp${'-1-'}A0123-456-${hex(64)}`],
  ['google-key', `AI${'za'}${noise(34)}_`],
  ['google-token', `GOC${'SPX-'}${noise(28)}`],
  ['google-token', `ya${'29.'}${noise(60)}`],
  ['npm-token', `npm${'_'}${noise(36)}`],
  ['pypi-token', `pypi${'-AgEIcHlwaS5vcmc'}${noise(60)}`],
  ['supabase-key', `sb${'_secret_'}${noise(22)}_${noise(8)}`],
  ['supabase-key', `sbp${'_'}${hex(40)}`],
  ['stripe-key', `sk${'_live_'}${noise(24)}`],
  ['stripe-key', `rk${'_test_'}${noise(24)}`],
  ['stripe-key', `wh${'sec_'}${noise(32)}`],
  ['stripe-key', `wh${'sec_'}${noise(24)}+${noise(10)}/${noise(5)}=`],
  ['huggingface-token', `hf${'_'}${noise(34)}`],
  ['groq-key', `gsk${'_'}${noise(52)}`],
  ['xai-key', `xai${'-'}${noise(80)}`],
  ['sendgrid-key', `SG${'.'}${noise(22)}.${noise(43)}`],
  ['digitalocean-token', `dop${'_v1_'}${hex(64)}`],
  ['docker-token', `dckr${'_pat_'}${noise(27)}`],
  ['vault-token', `hvs${'.'}${noise(90)}`],
  ['databricks-token', `dapi${hex(32)}`],
  ['linear-key', `lin${'_api_'}${noise(40)}`],
  ['shopify-token', `shp${'at_'}${hex(32)}`],
  ['age-key', `AGE-SECRET${'-KEY-1'}${noise(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}`],
  ['jwt', `${jose({ alg: 'HS256' })}.${jose({ sub: '1' })}.${noise(43)}`],
  ['jwt', `${jose({ alg: 'dir', enc: 'A256GCM' })}..${noise(16)}.${noise(40)}.${noise(22)}`],
]

const gate = new SecretGate()

test.each(tokens)('a token of kind %s is masked in every context', (kind, token) => {
  const masked = `<masked:${kind}>`
  expect(gate.text(token)).toBe(masked)
  for (const [before, after] of [
    ['', '\n'],
    ['Authorization: Bearer ', ' '],
    ['TOKEN=', ';'],
    ['"', '"'],
    ['https://x:', '@host/'],
    ['(', ')'],
    ['é', 'é'],
    ['a-word-that-is-long-enough-to-be-one ', ' b'],
  ] as const) {
    expect(gate.text(before + token + after)).toBe(before + masked + after)
    const json = gate.stringify({ [before + token]: [token + after], n: { token } })
    expect(json).toBe(JSON.stringify({ [before + masked]: [masked + after], n: { token: masked } }))
  }
  // In JSON source and in a URL, the escape before the token ends with a letter or digit.
  for (const before of [String.raw`\n`, String.raw`\\n`, String.raw`\u003d`, 'token%3D', '%20']) {
    expect(gate.text(before + token)).toBe(before + masked)
  }
})

const pem = (type: 'pkcs1' | 'pkcs8'): string =>
  generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type, format: 'pem' }).toString()

test.each(['pkcs1', 'pkcs8'] as const)('a private key in PEM (%s) is masked as a whole', (type) => {
  const key = pem(type)
  expect(gate.text(`before\n${key}after`)).toBe('before\n<masked:private-key>\nafter')
  const nested = JSON.stringify({ key })
  expect(gate.text(nested)).toBe(String.raw`{"key":"<masked:private-key>\n"}`)
  expect(gate.text(key + key)).toBe('<masked:private-key>\n<masked:private-key>\n')
})

test('a truncated private key is masked to its end', () => {
  const key = pem('pkcs8')
  expect(gate.text(key.slice(0, 300))).toBe('<masked:private-key>')
  expect(gate.text(`${key.slice(0, 300)}… (truncated)`)).toBe('<masked:private-key>… (truncated)')
  expect(gate.text(JSON.stringify(key.slice(0, 300)))).toBe('"<masked:private-key>"')
})

const ordinary = [
  '/home/me/task-sk-foo/and-a-long-name-for-a-directory-2024-01-01',
  'sk-learn-something-with-a-very-long-name-1234567890',
  'sk-fading-circle sk-cube-grid sk-internationalization',
  'sk-ant-colony-optimization-with-a-long-name-2024',
  'disk-0123456789abcdef0123456789abcdef risk-0123456789abcdef0123456789abcdef',
  'npm_config_registry npm_lifecycle_event npm_package_dependencies_something_long',
  'sb_secret_name_of_a_variable_in_a_program glpat-is-the-prefix-of-a-token-there',
  'xoxb-is-the-prefix-of-a-bot-token hf_hub_download_with_a_long_name_of_function',
  'AKIAnotakey AKIA0123 AIzaShort ghp_short github_pat_short ghp_ sk- xoxb-',
  'A private key begins with -----BEGIN PRIVATE KEY----- and a public one with -----BEGIN PUBLIC KEY-----',
  '-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----',
  'eyJ is how {" begins in base64: eyJhIjoxfQ==, and eyJhbGciOiJIUzI1NiJ9 alone is no token',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0a1b2c3d4e5f67890abcdefABCDEF0123456789abcd user@host',
  'sha512-oRBHQ/mPqz4kW8y8kqYQ9z3VwQ0c1Wb0jZ1Yz9gq5v8t7u6s5r4q3p2o1n0m== integrity',
  'arn:aws:iam::123456789012:role/ASIA-PACIFIC-REGION-ADMINISTRATORS',
  'com.example.service.implementation.AbstractSingletonProxyFactoryBean.getInstance',
  'do_v1_migration_of_everything lin_api_client_configuration_for_tests dapi_client_configuration',
]

test.each(ordinary)('%j is not masked', (text) => {
  expect(gate.text(text)).toBe(text)
})

test('hashes, ids, images and the files of this project are not masked', () => {
  for (let round = 0; round < 300; round++) {
    const bytes = createHash('sha512').update(String(round)).digest()
    const text = [
      bytes.toString('hex'),
      bytes.toString('base64'),
      bytes.toString('base64url'),
      `data:image/png;base64,${Buffer.alloc(20_000, bytes).toString('base64')}`,
      createHash('sha1').update(bytes).digest('hex'),
      `refs/heads/sk-${round}/task-sk-${round} ${randomUUID()} ${ulid()} req_${ulid()} msg_${ulid()} toolu_01${ulid()}`,
    ].join(' ')
    expect(gate.text(text)).toBe(text)
  }
  for (const name of ['package-lock.json', 'README.md', 'docs/errors.md', 'src/secrets/gate.ts']) {
    const text = readFileSync(join(projectRoot, name), 'utf8')
    expect(gate.text(text)).toBe(text)
  }
})

/** Random base64 without padding, the same for equal seeds. */
const base64Of = ([seed, triples]: [number, number]): string =>
  createHash('shake256', { outputLength: 3 * triples })
    .update(String(seed))
    .digest('base64')

/** Puts a text into another, after at least 16 of its characters. */
const planted = (text: string, inside: string, where: number): string => {
  const at = 16 + Math.floor(where * (text.length - 16))
  return text.slice(0, at) + inside + text.slice(at)
}

const anywhere = fc.double({ min: 0, max: 1, noNaN: true })
const anyBase64 = fc.tuple(fc.nat(), fc.integer({ min: 8, max: 70_000 }))

test('base64 is left alone, however it is wrapped', () => {
  fc.assert(
    fc.property(anyBase64, (source) => {
      const base64 = base64Of(source)
      const lines = base64.match(/.{1,76}/g)?.join('\r\n') ?? ''
      for (const text of [base64, lines, JSON.stringify(lines), encodeURIComponent(base64)])
        expect(gate.text(text) === text).toBe(true)
    }),
    { numRuns: 20 },
  )
})

test('base64 is left alone even where it has the characters of a token', () => {
  const inBase64 = tokens.map(([, token]) => token).filter((token) => /^[A-Za-z0-9]+$/.test(token))
  inBase64.push(`AI${'za'}${noise(35)}`, `AI${'za'}${noise(60)}`)
  const joiners = ['+', '/', '//', '+/', String.raw`\/`, String.raw`\u002b`, String.raw`\u002F`, '%2B', '%2f']
  fc.assert(
    fc.property(
      anyBase64,
      fc.constantFrom(...inBase64),
      fc.constantFrom(...joiners),
      anywhere,
      (source, token, joiner, where) => {
        for (const inside of [joiner + token, joiner + token + joiner]) {
          const text = planted(base64Of(source), inside, where)
          expect(gate.text(text) === text).toBe(true)
        }
      },
    ),
    { numRuns: 100 },
  )
})

test('base64 of the URL alphabet is left alone even where it has the characters of a token', () => {
  const inBase64 = tokens.map(([, token]) => token).filter((token) => /^[\w-]+$/.test(token))
  expect(inBase64.length).toBeGreaterThan(20)
  fc.assert(
    fc.property(
      anyBase64,
      fc.constantFrom(...inBase64),
      fc.constantFrom('-', '_', '--', '_-'),
      anywhere,
      (source, token, joiner, where) => {
        const text = planted(base64Of(source).replaceAll(/[+/]/g, '-'), joiner + token, where)
        expect(gate.text(text) === text).toBe(true)
      },
    ),
    { numRuns: 100 },
  )
})

test.each([
  ['google-key', '\n+', '\n+more'],
  ['google-key', 'https://maps/api?key=', '&x=1'],
  ['google-key', '/', '/'],
  ['aws-key-id', 's3://', ':x@bucket'],
  ['aws-key-id', 'Credential=', '/20240101/us-east-1/s3/aws4_request'],
  ['databricks-token', '\n-', '-2'],
  ['github-token', 'https://', '@github.com/a/b'],
  ['github-token', 'raw/main/', '/x'],
  ['github-token', '${TOKEN:-', '}'],
  ['anthropic-key', '${KEY:-', '}'],
  ['anthropic-key', '\n-', '\n+'],
])('%s is masked between %j and %j', (kind, before, after) => {
  const [, token = ''] = tokens.find(([each]) => each === kind) ?? []
  expect(gate.text(before + token + after)).toBe(`${before}<masked:${kind}>${after}`)
})

test('a token is masked whatever characters surround it', () => {
  const around = fc.string({
    unit: fc.constantFrom(' ', '\n', '"', '=', ':', ',', '/', 'é', '\u2028', '\\'),
    maxLength: 40,
  })
  fc.assert(
    fc.property(fc.constantFrom(...tokens), around, around, ([, token], before, after) => {
      expect(gate.stringify([before + token + after])).not.toContain(token)
    }),
    { numRuns: 1000 },
  )
})

test.each([
  '-----BEGIN PRIVATE KEY-----\n',
  '-----BEGIN PRIVATE KEY----- ',
  'sk-',
  'sk-proj-',
  'glpat-',
  'sb_secret_',
  '-eyJ',
  'eyJaaaaaaa.a.',
  'xoxb-',
  'github_pat_ ',
])('a megabyte of %j, the start of a token repeated, is scanned quickly and not masked', (beginning) => {
  const text = beginning.repeat((1 << 20) / beginning.length)
  expect(gate.text(text)).toBe(text)
})

test('a megabyte of letters after the header of a key is not masked', () => {
  const text = `-----BEGIN PRIVATE KEY-----${' '.repeat(1 << 16)}${'a'.repeat(1 << 20)}`
  expect(gate.text(text)).toBe(text)
})
