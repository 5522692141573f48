/** Variables whose values are nobody's business. */
const secretName = /TOKEN|SECRET|PASSWORD|_KEY$/i

/** A shorter value is no secret, and would be found in any text. */
const minLength = 6

/** A text without the values of secret variables. */
export function withoutSecrets(text: string, env: NodeJS.ProcessEnv = process.env): string {
  // Only the values that matter are asked for: each is a call into Node.
  return Object.keys(env)
    .filter((name) => secretName.test(name))
    .map((name) => ({ name, value: env[name]?.trim() ?? '' }))
    .filter(({ value }) => value.length >= minLength)
    .toSorted((a, b) => b.value.length - a.value.length) // One may begin with another.
    .reduce((clean, { name, value }) => clean.replaceAll(value, `<secret:env:${name}>`), text)
}
