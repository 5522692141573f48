// Jest comes with who tests with it; we only extend its class.
declare module 'jest-environment-node' {
  export const TestEnvironment: new (...args: never[]) => object
}
