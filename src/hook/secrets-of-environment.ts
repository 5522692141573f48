import { secretsFromEnvironment } from '../secrets/environment.ts'
import { minSecretBytes } from '../secrets/forms.ts'

/** A text without the values of secret variables. Only as they are: a hook has no time for every way in which a value may be written. */
export function withoutRawSecrets(text: string, env: NodeJS.ProcessEnv): string {
  return secretsFromEnvironment(env)
    .map(({ name }) => ({ name, value: env[name]?.trim() ?? '' }))
    .filter(({ value }) => value.length >= minSecretBytes)
    .toSorted((a, b) => b.value.length - a.value.length) // One may begin with another.
    .reduce((clean, { name, value }) => clean.replaceAll(value, `<secret:env:${name}>`), text)
}
