import t from 'tap'
import Fastify from 'fastify'
import fp from 'fastify-plugin'
import { readPackageOptions as preloadOptions } from '../src/environment.js'
import { hindsight } from '../src/hindsight.js'
import { preloadApplication } from '../src/observe.js'
import { profileOf } from './support/app.js'

t.test('the options of the preload come from the environment, and enable no listener', async (t) => {
  t.match(preloadOptions({ NODE_ENV: 'production' }), { debug: false, profiler: { production: false } })
  t.equal(preloadOptions({ PROFILER: 'off' }).profiler, false)
  t.match(
    preloadOptions({ NODE_ENV: 'production', PROFILER: 'errors', STORAGE_URL: 'memory' }),
    { debug: false, profiler: { production: true, onlyExceptions: true } }
  )
  const given = preloadOptions({ STORAGE_URL: 'memory', DEBUG_HOSTS: 'dev.example', EDITOR_URL: 'zed', TRUSTED_HOSTS: 'shop.example', HEALTH: 'on' })
  t.match(given, { debug: true, debugHosts: ['dev.example'], editor: 'zed' })
  t.same(['trustedHosts', 'health', 'session', 'lifecycle'].filter((name) => name in given), [])
  t.notOk('role' in Object(preloadOptions({ STORAGE_URL: 'memory', PROFILER_ROLE: 'ROLE_OPERATOR' }).profiler), 'a role needs the option security')
  t.throws(() => preloadOptions({ PROFILER: 'some' }), { message: /PROFILER/ })
})

t.test('routes and hooks that are declared immediately are recorded', async (t) => {
  const app = Fastify({ pluginTimeout: 60_000 })
  preloadApplication(app, { debug: true, profiler: { storage: 'memory' } })
  app.addHook('onRequest', async function mine () {})
  app.get('/', async () => ({ hello: 'world' }))
  t.teardown(() => app.close())
  const profile = await profileOf(app, await app.inject('/'))
  t.ok(profile.events.some(({ listener, source }) => listener === 'mine' && /register\.test\.ts:\d+$/.test(source ?? '')))
  t.match(profile.route?.handler, /register\.test\.ts:\d+$/)
})

for (const debug of [true, false]) {
  t.test(`the names of plugins are those of the application with the preload, debug ${debug}`, async (t) => {
    const app = Fastify({ pluginTimeout: 60_000 })
    preloadApplication(app, { debug, profiler: { storage: 'memory' } })
    t.teardown(() => app.close())
    const names: string[] = []
    app.register(fp(async (app) => {
      names.push(app.pluginName)
      app.register(fp(async (app) => { names.push(app.pluginName) }, { name: 'inner' }))
    }, { name: 'outer' }))
    await app.ready()
    t.same(names, ['fastify -> outer', 'fastify -> outer -> inner'])
    t.equal(app.pluginName, 'fastify -> outer -> inner')
    t.notOk(app.hasPlugin('fastify-hindsight'))
    t.notMatch(app.printPlugins(), 'fastify-hindsight')
  })
}

t.test('an invalid option stops the start of an application with the preload', async (t) => {
  const app = Fastify({ pluginTimeout: 60_000 })
  const collector = { name: 'own', collect: () => ({}) }
  preloadApplication(app, { debug: true, profiler: { storage: 'memory', collectors: [collector, collector] } })
  t.teardown(() => app.close())
  await t.rejects(async () => { await app.ready() }, { message: /own/ })
})

t.test('registering the plugin in addition to the preload is refused', async (t) => {
  const app = Fastify({ pluginTimeout: 60_000 })
  preloadApplication(app, { debug: true, profiler: { storage: 'memory' } })
  t.teardown(() => app.close())
  await t.rejects(async () => { await app.register(hindsight) }, { message: /registered twice/ })
})
