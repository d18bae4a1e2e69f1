import t from 'tap'
import * as errors from '../../src/http/http-errors.js'

t.test('each error class has its name, status and code', async t => {
  for (const [name, status, code] of [
    ['NotFoundError', 404, 'HINDSIGHT_NOT_FOUND'],
    ['MethodNotAllowedError', 405, 'HINDSIGHT_METHOD_NOT_ALLOWED'],
    ['BadRequestError', 400, 'HINDSIGHT_BAD_REQUEST'],
    ['SuspiciousOperationError', 400, 'HINDSIGHT_SUSPICIOUS_OPERATION'],
    ['ResourceNotFoundError', 404, 'HINDSIGHT_RESOURCE_NOT_FOUND'],
    ['MethodLookupError', 405, 'HINDSIGHT_METHOD_LOOKUP'],
    ['MalformedMessageError', 400, 'HINDSIGHT_MALFORMED_MESSAGE'],
    ['HeaderOverflowError', 431, 'HINDSIGHT_HEADER_OVERFLOW'],
    ['RequestTimeoutError', 408, 'HINDSIGHT_REQUEST_TIMEOUT'],
    ['ClientGoneError', 499, 'HINDSIGHT_CLIENT_GONE']
  ] as const) {
    const cause = new Error('why')
    for (const message of ['plain', '100% of %s and %d']) {
      const error = new errors[name](message, { cause })
      t.match({ name: error.name, message: error.message, statusCode: error.statusCode, code: error.code }, { name, message, statusCode: status, code })
      t.equal(error.cause, cause)
      t.ok(error instanceof Error)
    }
  }
})

t.test('a bad request carries the same message as its cause', async t => {
  const error = errors.badRequest('Invalid Host "x".')
  t.match(error, { name: 'BadRequestError', message: 'Invalid Host "x".', cause: { name: 'SuspiciousOperationError', message: 'Invalid Host "x".' } })
})

t.test('a bad request has ten calls, also where more are kept of other errors', async t => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 50
  t.teardown(() => { Error.stackTraceLimit = stackTraceLimit })
  const fail = (depth: number): errors.BadRequestError => depth === 0 ? errors.badRequest('Invalid Host "x".') : fail(depth - 1)
  const error = fail(30)
  for (const { stack = '' } of [error, error.cause as Error]) {
    t.equal(stack.split('\n').length, 11)
    t.match(stack.split('\n')[1], 'at fail ', 'the caller is the first')
  }
  t.equal(Error.stackTraceLimit, 50)
})
