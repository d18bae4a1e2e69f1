import { channel } from 'node:diagnostics_channel'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { inBothProducts } from '../../support/products.js'
import { profileOf } from '../../support/app.js'

const isPublished = Number.parseInt(process.versions.node, 10) >= 22

/** Writes as `console` does. Node.js 20 publishes nothing. */
function write (method: 'log' | 'info' | 'debug' | 'warn' | 'error', ...values: unknown[]): void {
  if (isPublished) console[method](...values)
  else channel(`console.${method}`).publish(values)
}

inBothProducts('lines of the console are in the log of their request, with their line', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      write('log', 'found %d', 3, { password: 'hunter2', id: 7 })
      for (const method of ['info', 'debug', 'warn', 'error'] as const) write(method, method)
      write('log', { toJSON () { throw new Error('no') }, get x () { return write('log', 'within') } })
      return {}
    })
  })
  write('log', 'outside of requests')
  const response = await app.inject('/')
  const { logs } = await profileOf(app, response)
  const lines = logs.filter(({ channel }) => channel === 'console')
  t.same(lines.slice(0, 5).map(({ level, message }) => [level, message]), [
    ['info', "found 3 { password: '******', id: 7 }"], ['info', 'info'], ['debug', 'debug'], ['warn', 'warn'], ['error', 'error']
  ])
  t.equal(lines.length, 6)
  t.match(lines[0]?.source, /console\/index\.test\.ts:1[12]:\d+$/)
  const { body } = await app.inject(`/_profiler/${String(response.headers['x-debug-token'])}?panel=logs`)
  t.match(body, 'found 3')
  t.equal(body.includes('Node.js 22 or later'), !isPublished)
})

inBothProducts('a warning of the process, which Node.js prints, is one line', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      process.emitWarning('old', 'DeprecationWarning')
      // What Node.js 22 and later publish for it.
      channel('console.error').publish([`(node:${process.pid}) DeprecationWarning: old`])
      await turn()
      return {}
    })
  })
  const { logs } = await profileOf(app, await app.inject('/'))
  t.same(logs.filter(({ message }) => message.includes('old')).map(({ level, channel }) => [level, channel]), [['warn', 'process']])
})

t.test('nothing is subscribed to when the last application is closed', async t => {
  t.equal(channel('console.log').hasSubscribers, false)
})
