import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { QUERY_CHANNEL } from '../../src/queries/channel.js'
import { framesHere, removeInternalFrames } from '../../src/queries/stack.js'
import { testdir } from '../support/folder.js'

const inner = (): string | undefined => framesHere()
const outer = (): string | undefined => inner()

t.test('without a reader nothing is captured', async (t) => t.equal(framesHere(), undefined))

t.test('what makes stacks applies the source maps that only it has, and may fail', async (t) => {
  const reader = (): void => {}
  const { prepareStackTrace } = Error
  subscribe(QUERY_CHANNEL, reader)
  t.teardown(() => {
    unsubscribe(QUERY_CHANNEL, reader)
    Error.prepareStackTrace = prepareStackTrace
  })
  // A file without a source map.
  const { called } = await import(pathToFileURL(join(testdir(t, { 'called.mjs': 'export const called = (run) => run()\n' }), 'called.mjs')).href) as
    { called: (run: () => string | undefined) => string | undefined }
  const lineBy = (prepare: typeof prepareStackTrace | undefined): string | undefined => {
    Reflect.set(Error, 'prepareStackTrace', prepare)
    const frames = called(() => framesHere())
    Error.prepareStackTrace = prepareStackTrace
    return frames?.split('\n').find((line) => /called\.\w+:/.test(line))
  }
  t.match(lineBy(undefined), /called\.mjs:1:32\)$/)
  const mapped = lineBy((error, [site]) => {
    const place = `${site?.getFileName()?.replace('.mjs', '.ts')}:${Number(site?.getLineNumber()) + 9}:1`
    return `${error.name}\n    at ${site?.getFunctionName()} (${place})`
  })
  t.equal(mapped?.replace(/file.*\//, ''), '    at called (called.ts:10:1)')
  t.match(lineBy(() => { throw new Error('of the application') }), /called\.mjs:1:32\)$/)
  t.match(lineBy((_error, sites) => sites), /called\.mjs:1:32\)$/)
  const nested = lineBy(() => `Error\n    at called.js:1:1${String(new Error('within').stack)}`.split('\n').slice(0, 2).join('\n'))
  t.equal(nested, '    at called.js:1:1Error: within')
})

t.test('the frames are those of the application', async (t) => {
  const reader = (): void => {}
  subscribe(QUERY_CHANNEL, reader)
  t.teardown(() => unsubscribe(QUERY_CHANNEL, reader))
  const { stackTraceLimit, prepareStackTrace } = Error
  const [first = '', second = '', ...others] = (outer() ?? '').split('\n')
  t.match([first, second], [/^ {4}at inner \(.*stack\.test\.ts:10:\d+\)$/, /^ {4}at outer \(.*stack\.test\.ts:11:\d+\)$/])
  t.notMatch(others.join('\n'), /node_modules|node:/)
  t.same([Error.stackTraceLimit, Error.prepareStackTrace], [stackTraceLimit, prepareStackTrace])

  const resumed = await new Promise<string | undefined>((resolve) => {
    setTimeout(async function later () {
      await sleep(1)
      resolve(outer())
    })
  })
  t.match(resumed, /at outer \(.*\n.*at .*later /)

  // The first frames are not enough where all are those of the application.
  const deep = (depth: number): string | undefined => depth === 0 ? inner() : deep(depth - 1)
  t.equal(deep(15)?.match(/at deep/g)?.length, 16)
  t.equal(deep(100)?.split('\n').length, 60)
})

t.test('calls of Hindsight are removed from a stack that is read-only', async (t) => {
  const error = new Error('x')
  const frames = error.stack?.split('\n').slice(1, 5) ?? []
  const own = `    at observed (${join(import.meta.dirname, '../../src/queries/query.ts')}:1:1)`
  const stored = '    at AsyncLocalStorage.run (node:async_hooks:346:14)'
  Object.defineProperty(error, 'stack', { value: ['Error: x', stored, own, stored, own, ...frames].join('\n'), writable: false })
  removeInternalFrames(error, 10)
  t.same(error.stack?.split('\n'), ['Error: x', ...frames])
  t.match(Object.getOwnPropertyDescriptor(error, 'stack'), { enumerable: false, configurable: true })
})
