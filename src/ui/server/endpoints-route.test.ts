import { expect, test } from 'vitest'
import { routeOf } from './endpoints.ts'

test.each([
  ['/api/now', '/api/now', ''],
  ['/api/sessions', '/api/sessions', ''],
  ['/api/sessions/', '/api/sessions/', ''],
  ['/api/sessions/ses_1', '/api/sessions/:id', 'ses_1'],
  ['/api/sessions/a%2Fb/events', '/api/sessions/:id/events', 'a/b'],
  ['/api/sessions/api/events/', '/api/sessions/:id/events/', 'api'],
])('%s has the route %s', (path, route, id) => {
  expect(routeOf(path)).toEqual({ route, id })
})

test('a path that is not UTF-8 is refused', () => {
  expect(() => routeOf('/api/sessions/%ff')).toThrow('not valid UTF-8')
})
