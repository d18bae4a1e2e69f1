import type { Profile } from '../../src/store/profile.js'

/** A small profile for tests; `changes` replace its fields. */
export function profile (token: string, changes: Partial<Profile> = {}): Profile {
  return {
    version: 1,
    token,
    time: '2026-01-02T03:04:05.678Z',
    duration: 1.25,
    method: 'GET',
    url: 'http://127.0.0.1:3000/robots.txt',
    ip: '127.0.0.1',
    status: 200,
    route: null,
    exceptions: [],
    logs: [],
    events: [],
    collectors: {},
    ...changes
  }
}

/** The same as of a request that failed. */
export function failure (token: string, changes: Partial<Profile> = {}): Profile {
  return profile(token, {
    status: 404,
    exceptions: [
      { name: 'LookupError', message: 'No routes found for "/robots.txt/"', frames: [], stack: 'LookupError: x' },
      {
        name: 'NotFoundError',
        message: 'No route found for "GET http://127.0.0.1:3000/robots.txt"',
        statusCode: 404,
        code: 'NOT_FOUND',
        stack: 'NotFoundError: x\n    at route (/app/plugins/router.ts:3:7)',
        frames: [
          { file: '/app/node_modules/fastify/route.js', line: 10, column: 2, function: 'preParsing', own: false },
          {
            file: '/app/plugins/router.ts',
            line: 3,
            column: 7,
            function: 'route',
            own: true,
            excerpt: { start: 2, lines: ['function route () {', '  throw error', '}'] }
          }
        ]
      }
    ],
    ...changes
  })
}

/** Tokens in an order that is easy to read: 000001, 000002, … */
export function tokens (from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, i) => String(from + i).padStart(6, '0'))
}
