import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { FlattenedException } from '../../src/errors/exception.js'
import { flattenError, maskExceptions } from '../../src/errors/masked-exceptions.js'
import { createMask } from '../../src/mask/mask.js'
import { testdir } from '../support/folder.js'

class PaymentError extends Error {}

function throwing (): never {
  throw new Error('from a getter')
}

const named: Array<[what: string, raised: unknown, name: string, message: string | RegExp]> = [
  ['an error', new TypeError('wrong'), 'TypeError', 'wrong'],
  ['a subclass without a name', new PaymentError('declined'), 'PaymentError', 'declined'],
  ['an error without a message', new Error(), 'Error', ''],
  ['a message that is no string', Object.assign(new Error(), { message: { a: 1 } }), 'Error', '{ a: 1 }'],
  ['an error of another realm', runInNewContext('new RangeError("far")'), 'RangeError', 'far'],
  ['a DOMException', new DOMException('stopped', 'AbortError'), 'AbortError', 'stopped'],
  ['a string', 'oops', 'Thrown string', 'oops'],
  ['an empty string', '', 'Thrown string', ''],
  ['null', null, 'Thrown null', 'null'],
  ['undefined', undefined, 'Thrown undefined', 'undefined'],
  ['a number', 42, 'Thrown number', '42'],
  ['NaN', NaN, 'Thrown number', 'NaN'],
  ['a bigint', 1n, 'Thrown bigint', '1n'],
  ['a boolean', false, 'Thrown boolean', 'false'],
  ['a symbol', Symbol('s'), 'Thrown symbol', 'Symbol(s)'],
  ['a function', function named () {}, 'Thrown function', '[Function: named]'],
  ['an object', { a: 1 }, 'Thrown object', '{ a: 1 }'],
  ['an object that looks like an error', { name: 'Odd', message: 'like one', stack: '    at forged (/app/a.ts:1:1)' }, 'Odd', 'like one'],
  ['an object without a prototype', Object.create(null), 'Thrown object', '[Object: null prototype] {}'],
  ['a Map', new Map([[1, 2]]), 'Thrown Map', 'Map(1) { 1 => 2 }'],
  ['a revoked proxy', revoked(), 'Thrown object', '<Revoked Proxy>'],
  [
    'a proxy that throws', new Proxy({}, { get: throwing, getPrototypeOf: throwing, has: throwing, ownKeys: throwing, getOwnPropertyDescriptor: throwing }),
    'Thrown object', /./
  ],
  ['a proxy of an error', new Proxy(new Error('inner'), {}), 'Error', 'inner'],
  ['an inspection that throws', { [Symbol.for('nodejs.util.inspect.custom')]: throwing }, 'Thrown object', /cannot be read/]
]

for (const [what, raised, name, message] of named) {
  t.test(what, async (t) => {
    const chain = flattenError(raised)
    t.equal(chain.length, 1)
    t.match(chain[0], { name, message })
    t.type(chain[0]?.stack, 'string')
    t.doesNotThrow(() => JSON.stringify(chain))
    if (name.startsWith('Thrown') || name === 'Odd') t.same(chain[0]?.frames, [], 'has no frames')
  })
}

t.test('getters that throw leave the other members readable', async (t) => {
  for (const key of ['name', 'message', 'stack', 'cause', 'code', 'statusCode', 'status', 'errors', 'constructor']) {
    const error = Object.defineProperty(new Error('text'), key, { get: throwing })
    const chain = flattenError(error)
    t.equal(chain.length, 1, key)
    t.equal(chain[0]?.message, key === 'message' ? '' : 'text', key)
  }
})

t.test('the chain begins with the root cause', async (t) => {
  const root = Object.assign(new Error('root'), { code: 'ECONNREFUSED' })
  const top = Object.assign(new Error('top', { cause: new Error('middle', { cause: root }) }), { statusCode: 503 })
  const chain = flattenError(top)
  t.same(chain.map((exception) => exception.message), ['root', 'middle', 'top'])
  t.equal(chain[0]?.code, 'ECONNREFUSED')
  t.equal(chain[2]?.statusCode, 503)
  t.notMatch(chain[2]?.stack, /root/, 'the stack does not contain its causes')
  t.same(flattenError(new Error('top', { cause: 'text' })).map((exception) => exception.name), ['Thrown string', 'Error'])
  t.equal(flattenError(Object.assign(new Error('top'), { cause: null })).length, 1, 'null is not a cause')
})

t.test('code and status are read if they are valid', async (t) => {
  const cases: Array<[properties: object, expected: object]> = [
    [{ code: 7 }, { code: '7' }],
    [{ code: {} }, { code: undefined }],
    [{ status: 404 }, { statusCode: 404 }],
    [{ statusCode: 200, status: 422 }, { statusCode: 422 }],
    [{ statusCode: '404' }, { statusCode: 404 }],
    [{ statusCode: 600 }, { statusCode: undefined }]
  ]
  for (const [properties, expected] of cases) {
    const { code, statusCode } = flattenError(Object.assign(new Error('x'), properties))[0] ?? {}
    t.match({ code, statusCode }, expected, JSON.stringify(properties))
  }
})

t.test('the number of a DOMException is no code: its name is', async (t) => {
  class OwnException extends DOMException { override get code (): never { return 'OWN' as never } }
  const errors = [new DOMException('late', 'TimeoutError'), new DOMException('no', 'AbortError'), new OwnException('x', 'DataCloneError')]
  t.same(errors.map((error) => flattenError(error)[0]).map((one) => [one?.name, one?.code]), [
    ['TimeoutError', undefined], ['AbortError', undefined], ['DataCloneError', 'OWN']
  ])
})

t.test('a circular chain of causes ends', async (t) => {
  const first = new Error('first')
  first.cause = new Error('second', { cause: first })
  const chain = flattenError(first)
  t.same(chain.map((exception) => exception.message), ['second', 'first'])
  t.match(chain[0]?.note, /listed here already/)
})

t.test('a long chain is cut at its far end', async (t) => {
  let error = new Error('0')
  for (let i = 1; i < 500; i++) error = new Error(String(i), { cause: error })
  const chain = flattenError(error)
  t.equal(chain.length, 100)
  t.equal(chain.at(-1)?.message, '499')
  t.equal(chain[0]?.note, 'Its further causes are left out.')
})

t.test('a SuppressedError has the errors of both functions', async (t) => {
  const both = { error: new Error('while it was closed', { cause: 'busy' }), suppressed: new Error('first') }
  const [flat] = flattenError(Object.assign(new Error('An error was suppressed during disposal'), { name: 'SuppressedError', ...both }))
  t.match(flat, { name: 'SuppressedError', errors: [[{ message: 'first' }], [{ name: 'Thrown string' }, { message: 'while it was closed' }]] })
})

t.test('an AggregateError is a tree', async (t) => {
  const inner = new AggregateError([new Error('deep')], 'inner')
  const chain = flattenError(new AggregateError([new Error('a', { cause: 'why' }), 'b', inner], 'all'))
  t.same(chain[0]?.errors?.map((member) => member.map((exception) => exception.message)), [['why', 'a'], ['b'], ['inner']])
  t.equal(chain[0]?.errors?.[2]?.[0]?.errors?.[0]?.[0]?.message, 'deep')
  const many = flattenError(new AggregateError(Array.from({ length: 1_000 }, (_, i) => new Error(String(i)))))
  t.equal(many[0]?.errors?.length, 99)
  t.equal(many[0]?.note, '901 of its 1,000 errors are left out.')
  const self = new AggregateError([], 'self')
  self.errors.push(self)
  t.equal(flattenError(self)[0]?.errors, undefined, 'an error that contains itself')
  t.equal(flattenError(Object.assign(new Error('fields'), { errors: ['name is required'] }))[0]?.errors, undefined, 'other errors have other values there')
})

function tree (width: number, depth: number): Error {
  return depth === 0 ? new Error('leaf') : new AggregateError(Array.from({ length: width }, () => tree(width, depth - 1)), 'node')
}

function listedIn (chain: readonly FlattenedException[]): number {
  return chain.reduce((sum, { errors = [] }) => sum + 1 + errors.reduce((inner, member) => inner + listedIn(member), 0), 0)
}

t.test('a tree of errors has at most 100 exceptions', async (t) => {
  for (const [raised, note] of [
    [tree(30, 3), '29 of its 30 errors are left out.'],
    [tree(5, 3), '1 of its 5 errors is left out.'],
    [tree(4, 3), undefined]
  ] as const) {
    const chain = flattenError(raised)
    t.equal(chain.length, 1)
    t.equal(chain[0]?.note, note)
    t.ok(listedIn(chain) <= 100, `${listedIn(chain)} are listed`)
  }
  t.equal(listedIn(flattenError(tree(30, 3))), 100)
})

t.test('unreadable members are omitted', async (t) => {
  const endless = new Proxy(new Error('endless'), {
    get: (target, key) => key === 'errors' ? [new Error('a'), endless, tree(1, 1)] : Reflect.get(target, key) as unknown
  })
  t.ok(listedIn(flattenError(endless)) <= 100)
  const growing: Error = new Proxy(new Error('growing'), {
    get: (target, key) => key === 'cause' ? new Proxy(growing, {}) : Reflect.get(target, key) as unknown
  })
  t.equal(flattenError(growing).length, 100)
  const list = new Proxy([], { get: throwing })
  t.match(flattenError(Object.assign(new AggregateError([], 'list'), { errors: list })), [{ message: 'list', errors: undefined }])
  const sparse = Object.assign(new AggregateError([], 'sparse'), { errors: Object.assign([], { length: 2 ** 32 - 1 }) })
  t.ok(listedIn(flattenError(sparse)) <= 100)
})

t.test('all exceptions together have a bounded number of frames and excerpts', async (t) => {
  const lines = Array.from({ length: 150 }, () => `    at f (${import.meta.filename}:1:1)`).join('\n')
  const errors = Array.from({ length: 50 }, () => Object.assign(new Error('x'), { stack: `Error: x\n${lines}` }))
  const members = (flattenError(new AggregateError(errors))[0]?.errors ?? []).flat()
  t.match(members.at(-1), { frames: { length: 50 }, note: '100 more frames are left out.' })
  t.equal(members.flatMap(({ frames }) => frames).filter(({ excerpt }) => excerpt).length <= 100, true)
})

t.test('the texts and frames of an exception are bounded', async (t) => {
  const [exception] = flattenError(new Error('m'.repeat(60_000)))
  t.equal(exception?.message.length, 20_000 + '… (40,000 more characters)'.length)
  t.ok((exception?.stack.length ?? 0) < 70_000)
  t.ok((exception?.frames.length ?? 0) > 0, 'the frames are found')
  const deep = Object.assign(new Error('deep'), { stack: 'Error: deep\n' + Array.from({ length: 500 }, (_, i) => `    at f${i} (/x/a.ts:1:1)`).join('\n') })
  t.match(flattenError(deep)[0], { frames: { length: 50 }, note: '450 more frames are left out.' })
  const [endless] = flattenError(Object.assign(new Error('m'), { stack: 'Error: m\n' + '    at f (/x/a.ts:1:1)\n'.repeat(500_000) }))
  t.match(endless, { frames: { length: 50 } })
  t.ok((endless?.stack.length ?? 0) < 50_000)
})

function flattenIn (folder: string, error: unknown): ReturnType<typeof flattenError> {
  const { cwd } = process
  process.cwd = () => folder
  try {
    return flattenError(error)
  } finally {
    process.cwd = cwd
  }
}

t.test('only the first frames of the application have excerpts', async (t) => {
  const folder = testdir(t, { 'own.ts': 'one\ntwo\nthree\n', 'long.ts': 'x\n'.repeat(30), node_modules: { dep: { 'a.js': 'alpha\n' } } })
  const dependency = `    at dep (${folder}/node_modules/dep/a.js:1:1)`
  const stack = (...lines: string[]) => Object.assign(new Error('x'), { stack: ['Error: x', ...lines].join('\n') })
  const own = `    at own (${folder}/own.ts:2:1)`
  const [mixed] = flattenIn(folder, stack(dependency, own))
  t.same(mixed?.frames.map((frame) => frame.excerpt), [undefined, { start: 1, lines: ['one', 'two', 'three'] }], 'belong to own frames')
  const [foreign] = flattenIn(folder, stack(dependency, dependency))
  t.same(foreign?.frames.map((frame) => frame.excerpt), [undefined, undefined], 'and to no others')
  const [many] = flattenIn(folder, stack(...Array.from({ length: 12 }, (_, i) => `    at own (${folder}/long.ts:${i + 1}:1)`)))
  t.equal(many?.frames.filter((frame) => frame.excerpt).length, 10)
  const [recursive] = flattenIn(folder, stack(own, own, own))
  t.same(recursive?.frames.map((frame) => frame.excerpt?.start), [1, undefined, undefined], 'each line once')
  const forged = Object.assign(new Error(`x\n${own}`), { stack: `Error: x\n${own}\n${dependency}` })
  t.same(flattenIn(folder, forged)[0]?.frames.map((frame) => frame.function), ['dep'], 'and never to a line of the message')
})

function revoked (): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

t.test('secrets are masked in all texts and members of an exception', async t => {
  const text = 'token=abc'
  const shown = 'token=******'
  const frame = { file: '/a.ts', line: 1, column: 2, own: true, excerpt: { start: 1, lines: [text] } }
  const given = { name: text, message: text, stack: `Error: ${text}`, code: text, note: text, statusCode: 400, frames: [{ ...frame, function: text }] }
  const expected = { name: shown, message: shown, stack: `Error: ${shown}`, code: shown, note: shown, statusCode: 400, frames: [{ ...frame, function: shown }] }
  t.strictSame(maskExceptions([{ ...given, errors: [[given]] }], createMask()), [{ ...expected, errors: [[expected]] }])
  const bare = { name: 'Error', message: '', stack: '', frames: [] }
  t.strictSame(maskExceptions([bare], createMask()), [bare], 'nothing is added')
})

t.test('secrets in an excerpt are masked, and the code stays valid', async t => {
  const mask = createMask()
  for (const [line, expected] of [
    ["const db = connect('postgres://u:pw@db/shop')", "const db = connect('postgres://u:******@db/shop')"],
    ["  start({ password: 'hunter2', user: 'me' })", "  start({ password: '******', user: 'me' })"],
    ['login({ password: "it\'s me" })', 'login({ password: "******" })'],
    ['config["apiKey"] = "abc def"', 'config["apiKey"] = "******"'],
    ["headers: { authorization: 'Bearer abc.def' }", "headers: { authorization: '******' }"],
    ['const token = request.headers.token', 'const token = request.headers.token'],
    ['if (password === null) throw new Error("no password")', 'if (password === null) throw new Error("no password")'],
    ['const session = await load(token, { secret })', 'const session = await load(token, { secret })'],
    ['  session: { secret: process.env.SECRET },', '  session: { secret: process.env.SECRET },']
  ] as const) {
    const frame = { file: '/a.ts', line: 1, column: 2, own: true, function: 'f', excerpt: { start: 1, lines: [line] } }
    const [exception] = maskExceptions([{ name: 'E', message: '', stack: '', frames: [frame] }], mask)
    t.same(exception?.frames[0]?.excerpt, { start: 1, lines: [expected] }, line)
  }
})
