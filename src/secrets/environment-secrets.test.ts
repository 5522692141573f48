import { expect, test } from 'vitest'
import {
  environmentSecretRefs,
  redactRawEnvironmentSecrets,
  registerEnvironmentSecrets,
} from './environment-secrets.ts'
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
  expect(environmentSecretRefs(env).map(formatSecretRef)).toEqual([
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

test('raw values are replaced by the names of their variables, the longest value first', () => {
  const env = { A_KEY: 'hush-hush', LONGER_KEY: 'hush-hush-and-more', API_TOKEN: ' padded-token \n' }
  expect(redactRawEnvironmentSecrets('hush-hush-and-more hush-hush padded-token', env)).toBe(
    '<secret:env:LONGER_KEY> <secret:env:A_KEY> <secret:env:API_TOKEN>',
  )
})

test('redacting raw values leaves token counts, paths, short values and encoded values', () => {
  const env = { MAX_TOKENS: '128000', SECRETS_DIR: '/run/secrets', MY_TOKEN: '  abc ', B_TOKEN: value }
  const text = `of 128000 in /run/secrets: abc ${Buffer.from(value).toString('hex')}`
  expect(redactRawEnvironmentSecrets(text, env)).toBe(text)
})

test('the full gate finds every secret of the environment in every encoding', () => {
  const env = { A_TOKEN: value, MONOTONOUS_KEY: 'aaaaaaaa', HOME: '/home/somebody' }
  const { gate, secrets } = registerEnvironmentSecrets(env)
  expect(secrets).toEqual([{ ref: { kind: 'env', name: 'A_TOKEN' }, value }])
  expect(gate.text(`aaaaaaaa ${Buffer.from(value).toString('hex')}`)).toBe('aaaaaaaa <secret:env:A_TOKEN>')
})
