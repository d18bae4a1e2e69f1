import { flattenError } from '../../src/errors/masked-exceptions.js'
import type { FailureProfile } from '../../src/error-page/failure-profile.js'
import { record, requested } from '../errors/sample.js'

/** What would do harm if a page took it for more than text. */
export const HOSTILE = '"\'><script nonce="sc">alert(1)</script><img src="http://127.0.0.1:9/x" onerror=alert(2)></style><style nonce="st">@import ' +
  '"http://127.0.0.1:9/y";</style>javascript:alert(3)\u202e'

/** A failure of everyday: a chain of two, logs of several levels and channels. */
export function everyday (): Partial<FailureProfile> {
  const tree = new AggregateError([new Error('first', { cause: 'why' }), 'second'], `All replicas failed ${'x'.repeat(400)}`)
  return {
    status: 500,
    exceptions: flattenError(new Error('Outer', { cause: tree })),
    logs: [
      record('debug', 'a detail'), { ...record('info', 'an information', { deep: { a: [1] } }), channel: 'app' },
      record('warn', 'a warning'), { ...record('error', 'an error'), time: '2026-11-21T05:56:31.456Z' }
    ],
    hints: [{ title: 'Hint', text: 'Like this.', code: 'app.get()', routes: [{ methods: ['GET', 'POST'], pattern: '/robots', why: 'segment 1' }] }],
    ...requested('GET', `http://x/${'long'.repeat(200)}`, { accept: 'text/html' }, '::1')
  }
}

/** The same with hostile text wherever a page quotes something. */
export function hostile (): Partial<FailureProfile> {
  const frame = { file: `/srv/${HOSTILE}.ts`, line: 3, column: 5, function: HOSTILE, own: true, excerpt: { start: 3, lines: [HOSTILE, '`' + HOSTILE] } }
  const exception = { name: HOSTILE, message: HOSTILE, code: HOSTILE, note: HOSTILE, stack: HOSTILE, frames: [frame, { ...frame, own: false }] }
  return {
    status: 404,
    exceptions: [exception, exception],
    logs: [{ ...record('error', HOSTILE, { [HOSTILE]: HOSTILE }), channel: HOSTILE, time: HOSTILE }, record('info', HOSTILE)],
    hints: [{ title: HOSTILE, text: HOSTILE, code: HOSTILE, routes: [{ methods: [HOSTILE], pattern: HOSTILE, why: HOSTILE }] }],
    ...requested(HOSTILE, `javascript:${HOSTILE}`, { [HOSTILE]: HOSTILE }, HOSTILE),
    raisedBy: { stage: HOSTILE, listener: HOSTILE },
    // Hindsight makes them.
    token: 'abc123',
    profileUrl: '/_profiler/abc123'
  }
}
