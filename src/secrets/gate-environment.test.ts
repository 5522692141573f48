import { expect, test } from 'vitest'
import { registerEnvironmentSecrets } from './gate.ts'
import { formatSecretRef } from './secret-ref.ts'

const value = 'correct horse battery'

test('a variable named like a secret is one, except token counts, paths and short values', () => {
  const env = {
    GITHUB_TOKEN: value,
    db_password: value,
    CLIENT_SECRET_2: value,
    OPENAI_API_KEY: value,
    PIN_TOKEN: '123456',
    SHORT_TOKEN: '12345',
    TWO_BYTES_EACH_TOKEN: 'äöü',
    MAX_TOKENS: '128000',
    SESSION_TOKENS: value,
    SECRETS_DIR: '/run/secrets',
    TOKEN_FILE: '~/.token',
    PASSWORD_PATH: value,
    KEYBOARD: value,
    _KEYS: value,
    EMPTY_TOKEN: undefined,
    HOME: '/home/somebody',
  }
  expect(registerEnvironmentSecrets(env).secrets.map(({ ref }) => formatSecretRef(ref))).toEqual([
    'env:GITHUB_TOKEN',
    'env:db_password',
    'env:CLIENT_SECRET_2',
    'env:OPENAI_API_KEY',
    'env:PIN_TOKEN',
    'env:TWO_BYTES_EACH_TOKEN',
    'env:SESSION_TOKENS',
    'env:PASSWORD_PATH',
  ])
})

test('the gate finds every secret of the environment, but leaves out a monotonous value', () => {
  const env = { A_TOKEN: value, MONOTONOUS_KEY: 'aaaaaaaa', HOME: '/home/somebody' }
  const { gate, secrets } = registerEnvironmentSecrets(env)
  expect(secrets).toEqual([{ ref: { kind: 'env', name: 'A_TOKEN' }, value }])
  expect(gate.text(`aaaaaaaa ${Buffer.from(value).toString('hex')}`)).toBe('aaaaaaaa <secret:env:A_TOKEN>')
})
