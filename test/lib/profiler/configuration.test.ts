import t from 'tap'
import { configurationOf, ownVersion, type ConfigurationSummary } from '../../../lib/profiler/configuration.js'
import { panelsOf } from '../../../lib/profiler/panels/index.js'
import { build, profileOf } from '../../support/app.js'

t.test('the version of this package', async t => {
  t.match(ownVersion(), /^\d+\.\d+\.\d+/)
})

t.test('a profile has it in short, the running application as a whole', async t => {
  const secret = 's3cret-of-the-session-0123456789'
  const app = await build(t, { session: { secret, cookieName: 'mine' }, trustedHosts: [/local/] }, app => app.get('/', () => 'x'))
  const profile = await profileOf(app, await app.inject('/'))
  const config = profile.collectors.config as ConfigurationSummary
  t.same(Object.keys(config), ['id', 'node', 'fastify', 'hindsight', 'mode', 'lifecycle', 'revision', 'dependencies'].filter((name) => name !== 'revision' || config.revision !== undefined))
  t.ok(JSON.stringify(config).length < 1_500)
  t.match(config.dependencies, /(?:^| )pino@\d/)
  const whole = configurationOf(config.id)
  t.match(whole, {
    versions: { node: process.versions.node, fastify: app.version },
    plugins: /hindsight\/kernel\.request\/router/,
    hindsight: { debug: true, trustedHosts: ['/local/'], session: { secret: '******', cookieName: 'mine' } }
  })
  const shown = panelsOf(profile).find(({ name }) => name === 'config')?.render(profile) ?? ''
  t.match(shown, /Options of Fastify/)
  t.notMatch(JSON.stringify([profile, whole]) + shown, /s3cret/)
  const other = await build(t, { defaultLocale: 'fr' }, app => app.get('/', () => 'x'))
  t.not(((await profileOf(other, await other.inject('/'))).collectors.config as ConfigurationSummary).id, config.id)
  const twin = await build(t, { session: { secret, cookieName: 'mine' }, trustedHosts: [/local/] }, app => app.get('/', () => 'x'))
  await profileOf(twin, await twin.inject('/'))
  await app.close()
  t.ok(configurationOf(config.id), 'another is configured alike')
  await twin.close()
  t.equal(configurationOf(config.id), null)
  t.equal(configurationOf(undefined), null)
})
