import { secretsFromEnvironment } from '../../secrets/environment.ts'
import { SecretGate } from '../../secrets/gate.ts'

/** Of a longer text only the beginning is kept: what a tool writes is in its file. */
const keptLength = 4000
/** So much more is looked at, so that no secret is cut in two before it is found. */
const margin = 8000

/** A gate for everything that the environment says is secret. */
export function gateOf(env: NodeJS.ProcessEnv): SecretGate {
  const gate = new SecretGate()
  for (const ref of secretsFromEnvironment(env)) {
    try {
      gate.register(ref, env[ref.name] ?? '')
    } catch {
      // One that cannot be kept out, such as `aaaaaaaa`, hides nothing.
    }
  }
  return gate
}

/** A value without secrets, and of a bearable length. */
export function cleaned(value: unknown, gate: SecretGate): unknown {
  return shorten(JSON.parse(gate.stringify(shorten(value, keptLength + margin))), keptLength)
}

function shorten(value: unknown, length: number): unknown {
  if (typeof value === 'string')
    return value.length > length ? `${value.slice(0, length)}… [+${value.length - length}]` : value
  if (Array.isArray(value)) return value.slice(0, 1000).map((each) => shorten(each, length))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 1000)
      .map(([name, each]) => [name.slice(0, 200), shorten(each, length)]),
  )
}
