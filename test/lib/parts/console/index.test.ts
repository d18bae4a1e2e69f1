import { channel } from 'node:diagnostics_channel'
import t from 'tap'
import { inBothModes } from '../../../support/modes.js'
import { profileOf } from '../../../support/app.js'

const isPublished = Number.parseInt(process.versions.node, 10) >= 22

/** Writes as `console` does. Node.js 20 publishes nothing. */
function write (method: 'log' | 'info' | 'debug' | 'warn' | 'error', ...values: unknown[]): void {
  if (isPublished) console[method](...values)
  else channel(`console.${method}`).publish(values)
}

inBothModes('lines of the console are in the log of their request, with their line', async (t, build) => {
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
  t.match(lines[0]?.source, /console\/index\.test\.ts:10:\d+$|console\/index\.test\.ts:11:\d+$/)
  const { body } = await app.inject(`/_profiler/${String(response.headers['x-debug-token'])}?panel=logs`)
  t.match(body, 'found 3')
  t.equal(body.includes('Node.js 22 or later'), !isPublished)
})

t.test('nothing is subscribed to when the last application is closed', async t => {
  t.equal(channel('console.log').hasSubscribers, false)
})
