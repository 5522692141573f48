import { effect } from '@preact/signals'
import { render } from 'preact'
import { secret, signIn } from './api.ts'
import { App } from './app.tsx'
import { startClock } from './clock.tsx'
import { followNow } from './live.ts'
import { followAddress } from './route.ts'

await signIn()
effect(() => (secret.value === undefined ? undefined : followNow()))
followAddress()
startClock()
render(<App />, document.body)
