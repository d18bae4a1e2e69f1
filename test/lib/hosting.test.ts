import t from 'tap'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { collectHooks, runHooks } from '../../lib/hosting.js'

type Done = (error?: Error | null) => void

t.test('hooks of a hosted plugin are collected, and its decorators remain', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  let ran = 0
  const hooks = await collectHooks(app, async (instance: FastifyInstance) => {
    instance.decorate('fromPlugin', 1)
    instance.decorateRequest('kept', null)
    instance.decorateRequest('withheld', null)
    instance.addHook('onRequest', async () => { ran++ })
    instance.addHook('onRequest', async () => { ran++ })
    instance.addHook('onSend', async () => { ran++ })
    instance.options('*', () => 'never')
    instance.route({ method: 'GET', url: '/theirs', handler: () => 'never' })
  }, {}, { name: 'hosted-plugin', ignoredDecorators: ['withheld'] })
  app.get('/', () => 'x')
  t.equal((await app.inject('/')).statusCode, 200)
  t.equal(ran, 0)
  t.same(Object.entries(hooks).map(([name, list]) => [name, list.length]), [['onRequest', 2], ['onSend', 1]])
  t.same([app.hasDecorator('fromPlugin'), app.hasRequestDecorator('kept'), app.hasRequestDecorator('withheld')], [true, true, false])
  t.equal((await app.inject('/theirs')).statusCode, 404)
  t.ok(app.hasPlugin('hosted-plugin'))
})

t.test('a plugin that fails fails its host', async t => {
  const failing = [
    (_app: unknown, _options: unknown, done: (error: Error) => void) => done(new Error('no')),
    async () => { throw new Error('no') }
  ]
  for (const plugin of failing) await t.rejects(collectHooks(Fastify(), plugin, {}, { name: 'failing' }), { message: 'no' })
})

t.test('hooks run in sequence, synchronously where possible', async t => {
  const order: string[] = []
  const atOnce = (...args: unknown[]) => { order.push(`sync ${String(args[0])}`); (args.at(-1) as Done)() }
  const later = (...args: unknown[]) => { setTimeout(() => { order.push(`later ${String(args[0])}`); (args.at(-1) as Done)() }, 2) }
  const promised = async (...args: unknown[]) => { await null; order.push(`async ${String(args[0])}`) }
  t.equal(runHooks([atOnce, atOnce], 'a'), undefined)
  t.same(order, ['sync a', 'sync a'])
  order.length = 0
  await runHooks([later, atOnce, promised, atOnce], 'b')
  t.same(order, ['later b', 'sync b', 'async b', 'sync b'])
  t.equal(runHooks([]), undefined)
})

t.test('a failing hook ends the run', async t => {
  let reached = false
  const last = (...args: unknown[]) => { reached = true; (args.at(-1) as Done)() }
  t.throws(() => runHooks([(...args) => (args.at(-1) as Done)(new Error('at once')), last]), { message: 'at once' })
  await t.rejects(async () => { await runHooks([(...args) => { setTimeout(() => (args.at(-1) as Done)(new Error('later')), 1) }, last]) }, { message: 'later' })
  await t.rejects(async () => { await runHooks([async () => { throw new Error('async') }, last]) }, { message: 'async' })
  t.equal(reached, false)
})
