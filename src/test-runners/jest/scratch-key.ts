/**
 * The global through which the environment passes `scratch()` to a test file, which has modules of its own.
 */
export const scratchKey = Symbol.for('stint.jest')
