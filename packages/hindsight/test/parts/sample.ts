import type { ListenerEvent } from '../../src/recording/events.js'
import type { Profile } from '../../src/store/profile.js'
import { failure } from './fixture.js'

const event = (number: number, changes: Partial<ListenerEvent>): ListenerEvent => ({
  stage: 'kernel.request', listener: 'cors', pass: 'main', outcome: 'ran', start: number * 0.2, duration: 0.1, ...changes
})

/** A profile in which every panel has something to show, `text` wherever a client could have brought it. */
export function sample (text = 'plain'): Profile {
  return failure('3fa94c', {
    url: `http://127.0.0.1:3000/robots.txt?a=${text}`,
    ip: '127.0.0.1',
    duration: 4.2,
    route: { name: text, pattern: `/${text}`, params: { [text]: text }, methods: ['GET'], handler: 'routes/a.ts:3' },
    exceptions: failure('3fa94c').exceptions.map(
      exception => ({ ...exception, message: `${exception.message} ${text}`, errors: [[{ name: text, message: text, frames: [], stack: text }]] })
    ),
    logs: [
      { time: '2026-01-02T03:04:05.678Z', level: 'info', channel: 'request', message: `incoming ${text}`, context: { [text]: text } },
      { time: '2026-01-02T03:04:05.679Z', level: 'error', channel: text, message: text, context: {} }
    ],
    events: [
      event(1, { listener: 'cors', outcome: 'skipped', reason: `not configured ${text}` }),
      event(2, { listener: 'router', outcome: 'raised' }),
      event(3, { stage: 'kernel.controller_arguments', listener: 'error', pass: 'error', changes: { status: { from: 200, to: 404 } } }),
      event(4, {
        stage: 'kernel.response',
        listener: 'clickjacking',
        pass: 'error',
        changes: {
          headers: [{ name: 'x-frame-options', from: null, to: 'DENY' }, { name: 'vary', from: text, to: `${text}, b` }, { name: 'etag', from: text, to: null }]
        }
      })
    ],
    collectors: {
      request: {
        method: 'GET',
        httpVersion: text,
        headers: { host: text, [text]: [text, text] },
        query: { a: text },
        cookies: {},
        body: { nested: { a: text } },
        attributes: { locale: text }
      },
      response: { status: 404, headers: { 'content-type': text, 'content-security-policy': `default-src ${text}` }, size: 12 },
      router: { tried: [{ name: text, methods: ['GET'], pattern: '/a', why: text, isNear: true }], known: text },
      security: {
        user: { identifier: text, attributes: { [text]: text } },
        decisions: [{ by: text, attribute: text, subject: text, votes: [{ voter: text, vote: 'denied', reason: text }] }]
      },
      performance: { handler: 0, heap: { used: 1 } },
      'http-client': {
        count: 201,
        calls: [{ method: 'GET', url: text, status: 500, start: 1, duration: 2, error: text, requestHeaders: { [text]: text }, responseHeaders: {} }]
      },
      spans: {
        count: 1,
        spans: [{
          traceId: text,
          spanId: text,
          parentId: text,
          name: text,
          kind: 'client',
          scope: text,
          start: 1.5,
          duration: 0.5,
          attributes: { [text]: text },
          events: [{ name: text, attributes: { [text]: text } }]
        }]
      },
      session: { used: true, origin: 'loaded', changed: true, values: { [text]: '******' } },
      cors: {
        rule: { index: 0, path: text, origin: text, methods: ['GET'], credentials: false },
        origin: text,
        preflight: true,
        wanted: { method: text, headers: text },
        allowed: false,
        why: text,
        headers: { vary: text }
      },
      csp: { ofRoute: [text], nonces: [] },
      cache: {
        outcome: 'fresh', precondition: text, deferred: true, private: text, etag: text, lastModified: null, cacheControl: text, expires: null, vary: text
      },
      locale: { locale: text, source: text, default: text, enabled: [text], acceptLanguage: { enabled: true, header: text }, services: [text] },
      pagination: { page: 4, limit: 2, offset: 6, sort: text, direction: 'asc', total: 3, pages: 2, fields: { page: text }, sortable: [text], maxLimit: 9 },
      config: { id: 'none', node: text, fastify: text, hindsight: text, mode: text },
      links: { route: [{ rel: 'preload', href: '/a.css', attributes: { as: 'style', [text]: true, nopush: true } }], added: [{ rel: 'next', href: text }] },
      assets: { files: [`${text}.css`] },
      template: { name: text, duration: 1.5, variables: [text] },
      attributes: { template: text, cache: null },
      params: { id: { converter: 'int', sent: text }, [text]: { converter: 'int', sent: '12', value: 12 } },
      trace: { traceId: text, parentId: text, sampled: true },
      job: { input: { [text]: text }, result: text, source: text },
      otherErrors: [[{ name: text, message: text, frames: [], stack: text }]],
      cpu: {
        interval: 250,
        duration: 10,
        samples: 40,
        functions: [
          { name: '(root)', file: '', line: 0, column: 0, kind: 'engine' }, { name: text, file: text, line: 3, column: 7, kind: 'own' },
          {
            name: 'next', file: 'node_modules/fastify/lib/hooks.js', line: 234, column: 19, kind: 'dependency'
          }, { name: 'run', file: 'node:async_hooks', line: 332, column: 1, kind: 'node' },
          { name: '(idle)', file: '', line: 0, column: 0, kind: 'engine' }
        ],
        calls: [[0, -1, 0], [3, 0, 0], [2, 1, 500], [1, 2, 4500], [1, 3, 1000], [4, 0, 4000]]
      },
      custom: { a: [text] },
      broken: { error: `it broke ${text}` }
    }
  })
}
