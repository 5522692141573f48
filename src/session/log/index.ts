/** The door of the log for media and tests that read or make lines themselves. */
export { codecs, maxInlineBytes } from './codec.ts'
