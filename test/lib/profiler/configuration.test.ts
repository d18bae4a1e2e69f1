import t from 'tap'
import { createMask } from '../../../lib/mask/mask.js'
import { configurationOf, dependencyVersions, ownVersion, shownEnvironment, type ConfigurationSummary } from '../../../lib/profiler/configuration.js'
import { panelsOf } from '../../../lib/profiler/panels/index.js'
import { build, profileOf } from '../../support/app.js'

t.test('the environment without its secrets, by their names and by their looks', async t => {
  for (const [name, value, expected] of [
    ['DB_PASSWORD', 'x', '******'],
    ['STRIPE_KEY', 'x', '******'],
    ['PGPASS', 'x', '******'],
    ['DB_PASS', 'x', '******'],
    ['GH_PAT', `ghp_${'a1'.repeat(18)}`, '******'],
    ['ANYTHING', 'k3J9x2Lq8Zp4Wm7Rt1Vb6Nc0', '******'],
    ['DATABASE', 'postgres://app:s3cret@db/app', 'postgres://app:******@db/app'],
    ['ADO', 'Server=db;User=a;Password=s3cret;', 'Server=db;User=a;Password=******;'],
    ['AZURE', 'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=c2VjcmV0;', 'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=******;'],
    ['HEADERS', 'authorization=Bearer abc', 'authorization=****** ******'],
    ['PATH', '/usr/local/bin:/usr/bin:/opt/node20/bin', '/usr/local/bin:/usr/bin:/opt/node20/bin'],
    ['HOME', '/home/ada', '/home/ada'],
    ['NODE_ENV', 'development', 'development'],
    ['EMPTY_TOKEN', '', '']
  ] as const) t.same(shownEnvironment({ [name]: value, GONE: undefined }, createMask()), { [name]: expected }, `${name}=${value}`)
})

t.test('versions of this package and of what it depends on', async t => {
  t.match(ownVersion(), /^\d+\.\d+\.\d+/)
  t.match(dependencyVersions().pino, /^\d+\./)
  t.notOk(Object.values(dependencyVersions()).includes('not installed'))
})

t.test('a profile has it in short, the running application as a whole', async t => {
  process.env.HINDSIGHT_TEST_PASSWORD = 's3cret-env'
  t.teardown(() => { delete process.env.HINDSIGHT_TEST_PASSWORD })
  const secret = 's3cret-of-the-session-0123456789'
  const app = await build(t, { session: { secret, cookieName: 'mine' }, trustedHosts: [/local/] }, app => app.get('/', () => 'x'))
  const profile = await profileOf(app, await app.inject('/'))
  const config = profile.collectors.config as ConfigurationSummary
  t.same(Object.keys(config), ['id', 'node', 'fastify', 'hindsight', 'mode', 'lifecycle'])
  t.ok(JSON.stringify(config).length < 200)
  const whole = configurationOf(config.id)
  t.match(whole, {
    versions: { node: process.versions.node, fastify: app.version },
    plugins: /hindsight\/kernel\.request\/router/,
    hindsight: { debug: true, trustedHosts: ['/local/'], session: { secret: '******', cookieName: 'mine' } },
    environment: { HINDSIGHT_TEST_PASSWORD: '******' }
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
