import { once } from 'node:events'
import Fastify, { type FastifyInstance } from 'fastify'
import Fastify4 from 'fastify-4'
import t from 'tap'

process.env.STORAGE_URL = 'memory'

t.before(async () => { await import('../../src/preload.js') })

t.test('an application with Fastify 4 starts as it is, with one warning, beside one with Fastify 5', async (t) => {
  const warned: string[] = []
  const note = ({ message }: Error): void => { warned.push(message) }
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const older = [Fastify4(), Fastify4()]
  const app = Fastify()
  t.teardown(() => Promise.all([...older, app].map((one) => one.close())))
  for (const one of [...older, app] as FastifyInstance[]) one.get('/', async () => ({ hello: 'world' }))
  for (const one of older) {
    const { statusCode, body, headers } = await one.inject('/')
    t.same([statusCode, body, headers['x-debug-token']], [200, '{"hello":"world"}', undefined])
    t.notOk(one.hasDecorator('hindsight'))
  }
  t.match((await app.inject('/')).headers['x-debug-token'], /^[0-9a-f]{6}$/)
  if (warned.length === 0) await once(process, 'warning')
  t.same(warned, [`An application with Fastify ${older[0]?.version} is not observed: fastify-hindsight needs Fastify 5 or 6`])
})
