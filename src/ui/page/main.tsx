import { effect } from '@preact/signals'
import { render } from 'preact'
import { secret, signIn } from './api.ts'
import { App } from './app.tsx'
import { startClock } from './clock.tsx'
import { followNow, showNow } from './now-state.ts'
import { followAddress } from './route.ts'

const seen = await signIn()
if (seen !== undefined) showNow(seen)
// Newer data is on its way while the page is drawn for the first time.
effect(() => (secret.value === undefined ? undefined : followNow()))
followAddress()
startClock()
render(<App />, document.body)
