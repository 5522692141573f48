import { TestEnvironment } from 'jest-environment-node'
import { type JestEnvironmentClass, withScratch } from './with-scratch.ts'

export { withScratch }

/** For `testEnvironment`: Jest's own environment for Node, with a scratch for every test. */
const ScratchEnvironment: JestEnvironmentClass = withScratch(TestEnvironment)
export default ScratchEnvironment
