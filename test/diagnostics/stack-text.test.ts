import { runInThisContext } from 'node:vm'
import t from 'tap'
import { flattenError } from '../../plugins/diagnostics/flatten-error.js'
import { maskException } from '../../plugins/diagnostics/mask-exception.js'
import { stackOf } from '../../plugins/diagnostics/stack-text.js'
import { createMask } from '../../plugins/kernel/mask/mask.js'

function raise (message: string, code?: string): Error {
  const error = new TypeError(message)
  return code === undefined ? error : Object.assign(error, { code })
}

const raiseAll = (...given: Array<Parameters<typeof raise>>): Error[] => given.map((one) => raise(...one))

t.test('a stack is what Node.js writes, the first time and later', async (t) => {
  const [plain, first, second, other] = raiseAll(['same'], ['same'], ['same'], ['a\nb'])
  const expected = plain?.stack
  t.equal(stackOf(first).stack, expected)
  t.equal(stackOf(second).stack, expected)
  t.equal(second?.stack, expected, 'and so it is read by others')
  t.equal(stackOf(other).stack, expected?.replace('same', 'a\nb'))
  t.equal(stackOf(second).written, null, 'which is known for one that is just written only')
})

t.test('who writes stacks stays who it was', async (t) => {
  const before = Error.prepareStackTrace
  t.teardown(() => { Error.prepareStackTrace = before })
  stackOf(raise('x'))
  t.equal(Error.prepareStackTrace, before)
  stackOf(Object.defineProperty({}, 'stack', { get () { throw new Error('unreadable') } }))
  t.equal(Error.prepareStackTrace, before, 'where a getter throws, too')
  Error.prepareStackTrace = () => 'of the application'
  for (let times = 0; times < 2; times++) t.strictSame(stackOf(raise('x')), { stack: 'of the application', written: null })
})

t.test('a failure that comes again is the very same exception, until it says something else', async (t) => {
  const [a, b, message, code, caused] = raiseAll(['one'], ['one'], ['two'], ['one', 'E_X'], ['one']).map((error, i) => {
    if (i === 4) error.cause = error
    return flattenError(error).at(-1)
  })
  t.equal(a, b)
  for (const other of [message, code]) {
    t.not(other, a)
    t.equal(other?.frames.length, a?.frames.length)
  }
  t.equal(code?.code, 'E_X')
  t.match(caused?.note, 'listed here already')
  t.equal(a?.note, undefined, 'what a chain adds is not said of others')
})

t.test('the same exception is masked once by each mask', async (t) => {
  const [error] = raiseAll(['password=hunter2'])
  const [exception] = flattenError(error)
  if (exception === undefined) throw new Error('nothing was flattened')
  const mask = createMask()
  t.equal(maskException(exception, mask), maskException(exception, mask))
  const { message, stack } = maskException(exception, mask)
  t.notMatch(message + stack, 'hunter2')
  t.match(maskException(exception, createMask([])).message, 'hunter2')
})

t.test('many failures of one place, and at many places, are told each by its own message', async (t) => {
  const makers = Array.from({ length: 100 }, (_, i) => runInThisContext('(message) => new Error(message)', { filename: `place-${i}.js` }) as (message: string) => Error)
  for (let round = 0; round < 3; round++) {
    for (const [i, make] of makers.entries()) {
      const said = `${i} ${round} ${i % 7}`
      const [exception] = flattenError(make(said))
      t.equal(exception?.message, said)
      t.ok(exception?.stack.startsWith(`Error: ${said}\n`))
    }
  }
})
