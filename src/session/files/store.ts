import { createStore } from '../create-store.ts'
import type { SessionStore } from '../store.ts'
import { FilesystemDriver, type FilesystemOptions } from './driver.ts'

/**
 * Sessions in plain files, in stint's home.
 *
 * @example
 * const store = filesystemStore()
 * const sessions = await store.list()
 */
export const filesystemStore = (options: FilesystemOptions = {}): SessionStore =>
  createStore(new FilesystemDriver(options), options.clock)
