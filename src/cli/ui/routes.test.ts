import { expect, test } from 'vitest'
import { matchRoute, type Routes } from './routes.ts'

const routes: Routes = {
  'GET /api/now': () => ({ json: 'now' }),
  'GET /api/sessions/:id': () => ({ json: 'session' }),
  'GET /api/sessions/:id/events': () => ({ json: 'events' }),
  'POST /api/actions/break': () => ({ json: 'break' }),
}

test.each([
  ['GET', '/api/now', {}, true],
  ['GET', '/api/sessions/ses_1', { id: 'ses_1' }, true],
  ['GET', '/api/sessions/a%2Fb/events', { id: 'a/b' }, true],
  ['POST', '/api/actions/break', {}, true],
  ['GET', '/api/actions/break', {}, false],
])('%s %s', (method, path, params, isFound) => {
  const matched = matchRoute(routes, method, path)
  expect([matched?.params, matched?.answer !== undefined]).toEqual([params, isFound])
})

test.each(['/api', '/api/now/', '/api/sessions/', '/api/sessions//events', '/api/nowhere', '/'])(
  '%s is no endpoint',
  (path) => expect(matchRoute(routes, 'GET', path)).toBeUndefined(),
)

test('a path that is not UTF-8 is refused', () => {
  expect(() => matchRoute(routes, 'GET', '/api/sessions/%ff')).toThrow('not valid UTF-8')
})
