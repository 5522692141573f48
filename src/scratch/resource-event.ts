import { type Channel, channel } from 'node:diagnostics_channel'

/** An event of one file or directory of a scratch, published on the diagnostics channel `stint:resource`. */
export interface ResourceEvent {
  event: 'created' | 'tracked' | 'removed' | 'failed'
  path: string
  type: 'file' | 'directory'
  requestId: string
  /** The context it belongs to, as `outer > inner`; empty for the scratch itself. */
  context: string
  /** Why it could not be removed: an errno name such as `EPERM`. */
  error?: string
}

export const resourceChannel = channel('stint:resource') as Channel<unknown, ResourceEvent>
