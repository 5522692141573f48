import { expect, test } from 'vitest'
import { withoutRawSecrets } from './secrets-of-environment.ts'

test('the values of secret variables are replaced by their names, the longest first', () => {
  const env = { A_KEY: 'hush-hush', LONGER_KEY: 'hush-hush-and-more', API_TOKEN: ' padded-token \n' }
  expect(withoutRawSecrets('hush-hush-and-more hush-hush padded-token', env)).toBe(
    '<secret:env:LONGER_KEY> <secret:env:A_KEY> <secret:env:API_TOKEN>',
  )
})

test('what only counts tokens, names the place of a secret or is too short stays', () => {
  const env = { MAX_TOKENS: '128000', SECRETS_DIR: '/run/secrets', MY_TOKEN: '  abc ', OTHER: 'other-value' }
  const text = 'of 128000 in /run/secrets: abc other-value'
  expect(withoutRawSecrets(text, env)).toBe(text)
})
