import { render } from 'preact'
import { signIn } from './api.ts'
import { App } from './app.tsx'
import { startClock } from './clock.tsx'
import { followAddress } from './route.ts'

await signIn()
followAddress()
startClock()
render(<App />, document.body)
