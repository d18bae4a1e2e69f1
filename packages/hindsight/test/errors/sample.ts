import { flattenError } from '../../src/errors/masked-exceptions.js'
import type { ErrorReport } from '../../src/errors/report.js'
import type { LogLevel, LogRecord } from '../../src/logs/log-record.js'

/** A report as a request of everyday gives it; each test changes what it is about. */
export function sampleReport (changes: Partial<ErrorReport> = {}): ErrorReport {
  return {
    status: 404,
    reason: 'Not Found',
    exceptions: flattenError(notFound()),
    logs: [record('debug', 'Notified event "kernel.request" to listener "router".'), record('error', 'Uncaught error', { place: 'router.ts:1' })],
    request: {
      method: 'GET',
      url: 'http://127.0.0.1:3000/robots.txt?page=2',
      ip: '127.0.0.1',
      headers: [['host', '127.0.0.1:3000'], ['accept', 'text/html,*/*;q=0.8'], ['cookie', '******']]
    },
    hints: [],
    raisedBy: { stage: 'kernel.request', listener: 'router' },
    profile: { token: '3fa94c', url: 'http://127.0.0.1:3000/_profiler/3fa94c' },
    ...changes
  }
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
