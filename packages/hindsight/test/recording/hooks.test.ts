import t from 'tap'
import Fastify from 'fastify'
import { interceptHooks } from '../../src/recording/hooks.js'

t.test('each hook of an application and of its plugins is passed on, replaced or left out', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const ran: string[] = []
  const added: string[] = []
  interceptHooks(app, (instance, name, hook, add) => {
    const { name: called } = hook as { name: string }
    added.push(`${name} ${called} of ${instance === app ? 'the application' : 'a plugin'}`)
    if (called === 'leftOut') return
    add(called === 'replaced' ? async () => { ran.push('another one') } : hook)
  })
  t.equal(app.addHook('onRequest', async function kept () { ran.push('kept') }), app)
  await app.register(async (part) => {
    part.addHook('onRequest', async function replaced () { ran.push('replaced') })
    part.addHook('onRequest', async function leftOut () { ran.push('left out') })
    part.get('/', async () => 'x')
  })
  t.equal((await app.inject('/')).body, 'x')
  t.strictSame(ran, ['kept', 'another one'])
  t.strictSame(added, ['onRequest kept of the application', 'onRequest replaced of a plugin', 'onRequest leftOut of a plugin'])
})
