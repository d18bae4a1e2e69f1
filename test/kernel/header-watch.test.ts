import t from 'tap'
import { stateOf } from '../../plugins/kernel/request-state.js'
import { build } from '../support/app.js'

t.test('the recorder is told ahead of each way to change a header', async (t) => {
  const seen: unknown[] = []
  const app = await build({
    declare (app) {
      app.get('/', async (request, reply) => {
        const { recorder } = stateOf(request)
        t.intercept(recorder as { touch: unknown }, 'touch', { value: () => { seen.push(reply.getHeader('content-type') ?? reply.getHeader('x-one') ?? null) } })
        reply.type('text/csv')
        reply.removeHeader('content-type')
        reply.header('x-one', '1')
        reply.headers({ 'content-type': 'text/plain' })
        return 'x'
      })
    }
  })
  t.teardown(() => app.close())
  const { headers } = await app.inject('/')
  t.match(headers, { 'content-type': 'text/plain', 'x-one': '1' })
  t.same(seen.slice(0, 4), [null, 'text/csv', null, '1'])
})
