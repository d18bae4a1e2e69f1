import { flattenError } from '../../src/errors/masked-exceptions.js'
import type { FailureProfile } from '../../src/error-page/failure-profile.js'
import type { LogLevel, LogRecord } from '../../src/logs/log-record.js'

/** The profile of a failure of everyday before its response is sent; each test changes what it is about. */
export function sampleFailure (changes: Partial<FailureProfile> = {}): FailureProfile {
  return {
    token: '3fa94c',
    time: '2026-11-21T05:56:30.000Z',
    duration: 7,
    status: 404,
    route: null,
    exceptions: flattenError(notFound()),
    logs: [record('debug', 'Notified event "kernel.request" to listener "router".'), record('error', 'Uncaught error', { place: 'router.ts:1' })],
    ...requested('GET', 'http://127.0.0.1:3000/robots.txt?page=2', { host: '127.0.0.1:3000', accept: 'text/html,*/*;q=0.8', cookie: '******' }),
    hints: [],
    sentences: [],
    raisedBy: { stage: 'kernel.request', listener: 'router' },
    profileUrl: 'http://127.0.0.1:3000/_profiler/3fa94c',
    ...changes
  }
}

/** What the profile of a request has of its message. */
export function requested (
  method: string, url: string, headers: Record<string, string>, ip = '127.0.0.1'
): Pick<FailureProfile, 'method' | 'url' | 'ip' | 'collectors'> {
  return { method, url, ip, collectors: { request: { headers } } }
}

/** The chain of a request that has no route. */
export function notFound (): Error {
  const cause = Object.assign(new Error('No routes found for "/robots.txt/"'), { name: 'RouteLookupError' })
  return Object.assign(new Error('No route found for "GET http://127.0.0.1:3000/robots.txt"', { cause }), { name: 'NotFoundError', statusCode: 404 })
}

/** One line of a log. */
export function record (level: LogLevel, message: string, context: Record<string, unknown> = {}): LogRecord {
  return { time: '2026-11-21T05:56:30.123Z', level, channel: 'request', message, context }
}
