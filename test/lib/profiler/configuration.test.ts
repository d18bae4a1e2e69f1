import t from 'tap'
import { collectorsOf, ownVersion, type ConfigurationSummary } from '../../../lib/profiler/configuration.js'
import { panelsOf } from '../../../lib/profiler/panels/index.js'
import { build, profileOf } from '../../support/app.js'

t.test('the version is that of this package', async t => {
  t.match(ownVersion(), /^\d+\.\d+\.\d+/)
})

t.test('a profile has versions and an id of the configuration', async t => {
  const secret = 's3cret-of-the-session-0123456789'
  const app = await build(t, { session: { secret, cookieName: 'mine' }, trustedHosts: [/local/] }, app => app.get('/', () => 'x'))
  const profile = await profileOf(app, await app.inject('/'))
  const config = profile.collectors.config as ConfigurationSummary
  t.same(Object.keys(config), ['id', 'node', 'fastify', 'hindsight', 'mode', 'lifecycle', 'revision', 'dependencies'].filter((name) => name !== 'revision' || config.revision !== undefined))
  t.ok(JSON.stringify(config).length < 1_500)
  t.match(config.dependencies, /(?:^| )pino@\d/)
  const shown = panelsOf(profile).find(({ name }) => name === 'config')?.render(profile) ?? ''
  t.match(shown, new RegExp(`fastify.*${app.version}`))
  t.notMatch(JSON.stringify(profile) + shown, /s3cret/)
  const other = await build(t, { defaultLocale: 'fr' }, app => app.get('/', () => 'x'))
  t.not(((await profileOf(other, await other.inject('/'))).collectors.config as ConfigurationSummary).id, config.id)
  const twin = await build(t, { session: { secret, cookieName: 'mine' }, trustedHosts: [/local/] }, app => app.get('/', () => 'x'))
  t.equal(((await profileOf(twin, await twin.inject('/'))).collectors.config as ConfigurationSummary).id, config.id)
})

t.test('the listed collectors are those of the running application', async t => {
  const collectors = [{ name: 'mine', collect: () => 1 }]
  const [app, twin] = [await build(t, { profiler: { collectors } }), await build(t, { profiler: { collectors } })]
  const { id } = (await profileOf(app, await app.inject('/'))).collectors.config as ConfigurationSummary
  await profileOf(twin, await twin.inject('/'))
  t.equal(collectorsOf(id).length, 1)
  await app.close()
  t.equal(collectorsOf(id).length, 1, 'another application has the same configuration')
  await twin.close()
  t.same([collectorsOf(id), collectorsOf(undefined)], [[], []])
})
