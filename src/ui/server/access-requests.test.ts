import { expect, test } from 'vitest'
import { refusalOf, type RequestFacts } from './access.ts'

/** A request of the page itself. */
const own: RequestFacts = {
  kind: 'data',
  method: 'GET',
  headers: { host: '127.0.0.1:4711', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' },
  port: 4711,
  isLocal: false,
  hasSecret: true,
}

const statusOf = (
  change: Partial<Omit<RequestFacts, 'headers'>>,
  headers: RequestFacts['headers'] = {},
): number => refusalOf({ ...own, ...change, headers: { ...own.headers, ...headers } })?.status ?? 200

test.each<[string, Partial<RequestFacts>, RequestFacts['headers'], number]>([
  ['data for the page itself', {}, {}, 200],
  ['data with its own origin', {}, { origin: 'http://127.0.0.1:4711' }, 200],
  ['data without the secret', { hasSecret: false }, {}, 401],
  ['the token exchange, which has no secret yet', { kind: 'token', hasSecret: false }, {}, 200],
  ['data by a name that resolves to this machine', {}, { host: 'evil.example:4711' }, 403],
  ['data by localhost, which another server may answer for', {}, { host: 'localhost:4711' }, 403],
  ['data by the address without the port', {}, { host: '127.0.0.1' }, 403],
  ['data by no host at all', {}, { host: undefined }, 403],
  ['the page by a name that resolves to this machine', { kind: 'page' }, { host: 'evil.example:4711' }, 403],
  ['data for a page of the web', {}, { origin: 'https://evil.example' }, 403],
  ['data for a page on another port', {}, { origin: 'http://127.0.0.1:4712' }, 403],
  ['data for a file or a sandboxed frame', {}, { origin: 'null' }, 403],
  ['data for another port, without its origin', {}, { 'sec-fetch-site': 'same-site' }, 403],
  ['data for another site, without its origin', {}, { 'sec-fetch-site': 'cross-site' }, 403],
  ['data that the user types as an address', {}, { 'sec-fetch-site': 'none' }, 403],
  ['data for a program that is no browser', {}, { 'sec-fetch-site': undefined }, 403],
  ['a token for another site', { kind: 'token' }, { 'sec-fetch-site': 'cross-site' }, 403],
  ['a token for another port', { kind: 'token' }, { 'sec-fetch-site': 'same-site' }, 403],
  [
    'the page as an address',
    { kind: 'page' },
    { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
    200,
  ],
  [
    'the page by a link elsewhere',
    { kind: 'page' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    200,
  ],
  [
    'a script of the page in another page',
    { kind: 'page' },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
    403,
  ],
  ['a service worker', { kind: 'page' }, { 'service-worker': 'script' }, 403],
  [
    'an action as a form of any page could send it',
    { method: 'POST' },
    { 'content-type': 'text/plain' },
    415,
  ],
  ['an action as JSON', { method: 'POST' }, { 'content-type': 'application/json; charset=utf-8' }, 200],
  [
    'a script at the socket',
    { isLocal: true, hasSecret: false },
    { host: 'stint', 'sec-fetch-site': undefined },
    200,
  ],
])('%s: %#', (_, change, headers, status) => {
  expect(statusOf(change, headers)).toBe(status)
})
