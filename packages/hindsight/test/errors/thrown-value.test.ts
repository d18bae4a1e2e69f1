import t from 'tap'
import { classOf, codeOf, copyFields, fieldsOf, nameOf, statusOf } from '../../src/errors/thrown-value.js'

t.test('an error is named by its class, or as it was given', async (t) => {
  class CheckoutError extends Error {}
  class PriceError extends TypeError {}
  class DatabaseError extends Error { override name = 'error' }
  const cases: Array<[value: unknown, name: string]> = [
    [new Error('x'), 'Error'],
    [new TypeError('x'), 'TypeError'],
    [new CheckoutError('x'), 'CheckoutError'],
    [new PriceError('x'), 'PriceError'],
    [new DatabaseError('x'), 'DatabaseError'],
    [Object.assign(new Error('x'), { name: 'MongoServerError' }), 'MongoServerError'],
    [Object.assign(new CheckoutError('x'), { name: 'PaymentError' }), 'PaymentError'],
    [AbortSignal.abort().reason, 'AbortError'],
    [Object.assign(new Error('x'), { name: 'error' }), 'Error'],
    ['x', 'Thrown string'],
    [new Map(), 'Thrown Map'],
    [null, 'Thrown null']
  ]
  for (const [value, name] of cases) t.equal(nameOf(value), name)
})

t.test('a property that cannot be read is missing, and the others are read', async (t) => {
  const refuse = (): never => { throw new Error('no') }
  const proxy = new Proxy(new Error('x'), { get: refuse, getPrototypeOf: refuse })
  const error = Object.defineProperty(new Error('x'), 'code', { get: refuse })
  t.same(copyFields(error, ['message', 'code', 'cause']), { message: 'x', code: undefined, cause: undefined })
  t.same(copyFields(null, ['message']), { message: undefined })
  for (const value of [error, proxy, null, undefined, 'x', {}, { code: { toString: refuse } }]) t.equal(codeOf(value), '')
  t.same([{ code: 'E1' }, { code: 11000 }].map(codeOf), ['E1', '11000'])
  t.same([new Map(), error, proxy, Object.create(null), null].map(classOf), ['Map', 'Error', '', '', ''])
})

t.test('the own properties of an error are plain data, and no getter is called', async (t) => {
  const circle: Record<string, unknown> = { a: { b: 1, again: { c: 1 } }, socket: new Map() }
  const error = Object.assign(new Error('x', { cause: 'y' }), {
    code: 'E',
    statusCode: 400,
    errno: -2,
    address: '::1',
    empty: '',
    none: undefined,
    nothing: null,
    fn () {},
    response: new Map(),
    list: [1],
    // Values of a query, in errors of Drizzle, TypeORM and Knex.
    params: ['ada', 'hunter2'],
    parameters: ['ada', 'hunter2'],
    bindings: ['ada', 'hunter2'],
    data: { a: 1 },
    part: { name: 'a.png', file: new Map(), read () {}, at: new Date(0), none: null, fields: circle },
    void: {}
  })
  Object.defineProperty(error, 'secret', { get () { throw new Error('called') }, enumerable: true })
  Object.defineProperty(error, 'hidden', { value: 1, enumerable: false })
  const part = { name: 'a.png', at: new Date(0), none: null, fields: { a: { b: 1 } } }
  t.same(fieldsOf(error), { errno: -2, address: '::1', list: [1], data: { a: 1 }, part })
  t.same(fieldsOf(Object.assign(new Error('x'), { headers: { allow: 'POST' }, detail: 'y' })), { detail: 'y' }, 'the response has its headers')
  t.same(fieldsOf(new Proxy(error, { ownKeys () { throw new Error('unreadable') } })), {})
  t.equal(Object.keys(fieldsOf(Object.assign(new Error('x'), Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`f${i}`, i]))))).length, 20)
})

t.test('the status of an answer is that of the error or of the reply, if it is an error status', async t => {
  for (const [raised, reply, expected] of [
    [{ statusCode: 404 }, 200, 404], [{ status: 403 }, 200, 403], [{ statusCode: 200, status: 403 }, 200, 403], [{ statusCode: 399 }, 200, 500],
    [{ statusCode: 600 }, 200, 500], [{ statusCode: '404' }, 200, 404],
    [{ statusCode: 'E404', status: '403' }, 200, 403],
    [{ statusCode: 404.5 }, 200, 404], [{ statusCode: 599.5 }, 200, 500], [{ statusCode: {} }, 200, 500], [{ statusCode: 404n }, 200, 500],
    [null, 200, 500], [undefined, 409, 409], ['text', 302, 500], [{}, 503, 503],
    [{ get statusCode () { throw new Error('no') } }, 200, 500], [{ get statusCode () { throw new Error('no') }, status: 404 }, 200, 404]
  ] as const) t.equal(statusOf(raised, reply), expected)
})
