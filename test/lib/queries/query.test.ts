import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CALLED_BY_PACKAGE, framesHere, QUERY_CHANNEL } from '../../../lib/queries/query.js'

const inner = (): string | undefined => framesHere()
const outer = (): string | undefined => inner()

t.test('without a reader nothing is captured', async (t) => t.equal(framesHere(), undefined))

t.test('the frames are those of the application, and end with a line where a package called them', async (t) => {
  const reader = (): void => {}
  subscribe(QUERY_CHANNEL, reader)
  t.teardown(() => unsubscribe(QUERY_CHANNEL, reader))
  const { stackTraceLimit, prepareStackTrace } = Error
  const [first = '', second = '', ...others] = (outer() ?? '').split('\n')
  t.match([first, second], [/^ {4}at inner \(.*query\.test\.ts:6:\d+\)$/, /^ {4}at outer \(.*query\.test\.ts:7:\d+\)$/])
  t.equal(others.at(-1), CALLED_BY_PACKAGE)
  t.notMatch(others.join('\n'), /node_modules|node:/)
  t.same([Error.stackTraceLimit, Error.prepareStackTrace], [stackTraceLimit, prepareStackTrace])

  const resumed = await new Promise<string | undefined>((resolve) => {
    setTimeout(async function later () {
      await sleep(1)
      resolve(outer())
    })
  })
  t.match(resumed, /at outer \(.*\n.*at .*later /)
  t.notMatch(resumed, CALLED_BY_PACKAGE)

  const deep = (depth: number): string | undefined => depth === 0 ? inner() : deep(depth - 1)
  t.ok(deep(100)?.endsWith(CALLED_BY_PACKAGE), 'what is beyond the frames is unknown')
})
