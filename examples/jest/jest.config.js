module.exports = {
  globalSetup: 'stint/jest/global-setup',
  globalTeardown: 'stint/jest/global-teardown',
  testEnvironment: 'stint/jest/environment',
}
