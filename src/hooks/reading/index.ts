/** Which shell commands change nothing, so that an agent may run them while another holds the workspace. */
export { gitOnlyReads, leadingGit, onlyReads } from './only-reads.ts'
