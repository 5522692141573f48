// Jest is installed by the user; stint only extends its class.
declare module 'jest-environment-node' {
  export const TestEnvironment: new (...args: never[]) => object
}
