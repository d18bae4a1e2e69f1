import t from 'tap'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import { hindsight } from '../../../app/hindsight.js'
import type { CollectOptions } from '../../../lib/profiler/collect-policy.js'
import { signDemand } from '../../../lib/profiler/on-demand.js'
import { inMemory } from '../../support/app.js'

const DAY = 24 * 3600
const onDemand = { secret: 'x'.repeat(32) }
const demand = (seconds = 60): string => signDemand(onDemand.secret, Date.now() / 1000 + seconds)

async function build (profiler: false | CollectOptions): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(hindsight, { lifecycle: 'full', debug: true, session: { secret: 'x'.repeat(32) }, profiler: inMemory(profiler) })
  app.get('/ok', async () => 'ok')
  app.get('/api/ok', async () => 'ok')
  app.get('/boom', async () => { throw new Error('boom') })
  app.get('/unwell', async (_request, reply) => reply.code(503).send('unwell'))
  app.get('/late', async (_request, reply) => {
    reply.send('sent')
    throw new Error('late')
  })
  return app
}

const cases: Array<[name: string, options: false | CollectOptions, request: InjectOptions, profiled: boolean]> = [
  ['everything by default', {}, { url: '/ok' }, true],
  ['nothing when switched off', false, { url: '/ok' }, false],
  ['a failure only', { onlyExceptions: true }, { url: '/ok' }, false],
  ['a failure only: a failure', { onlyExceptions: true }, { url: '/boom' }, true],
  ['a failure only: no route', { onlyExceptions: true }, { url: '/nowhere' }, true],
  ['a path prefix', { matcher: '/api' }, { url: '/api/ok' }, true],
  ['another path', { matcher: '/api' }, { url: '/ok' }, false],
  ['an expression', { matcher: /ok$/ }, { url: '/ok' }, true],
  ['a function', { matcher: (request) => request.headers['x-profile'] === 'me' }, { url: '/ok', headers: { 'x-profile': 'me' } }, true],
  ['a function that declines', { matcher: (request) => request.headers['x-profile'] === 'me' }, { url: '/ok' }, false],
  ['a function that throws', { matcher: () => { throw new Error('oh') } }, { url: '/ok' }, true],
  ['off unless asked for', { collect: false, collectParameter: 'profile' }, { url: '/ok' }, false],
  ['off unless asked for: asked', { collect: false, collectParameter: 'profile' }, { url: '/ok?profile=1' }, true],
  ['on unless declined', { collectParameter: 'profile' }, { url: '/ok?profile=0' }, false],
  ['a parameter that says nothing', { collectParameter: 'profile' }, { url: '/ok?profile=maybe' }, true],
  ['no share', { sampling: 0 }, { url: '/ok' }, false],
  ['no share of successes, all failures', { sampling: 0 }, { url: '/boom' }, true],
  ['off, but failures', { collect: false, errors: true }, { url: '/boom' }, true],
  ['off, but failures: none', { collect: false, errors: true }, { url: '/ok' }, false],
  ['failures of other paths too', { matcher: '/api', errors: true }, { url: '/boom' }, true],
  ['a failure only: an answer that says so', { onlyExceptions: true }, { url: '/unwell' }, true],
  ['on demand: not asked', { collect: false, onDemand }, { url: '/ok' }, false],
  ['on demand: asked by a header', { collect: false, onDemand }, { url: '/ok', headers: { 'x-hindsight-profile': demand() } }, true],
  ['on demand: asked by the query', { onlyExceptions: true, sampling: 0, onDemand }, { url: '/ok', query: { _profile: demand() } }, true],
  ['on demand: by other names', { collect: false, onDemand: { ...onDemand, header: 'X-Look', parameter: 'look' } }, { url: '/ok', headers: { 'x-look': demand() } }, true],
  ['on demand: by another name’s header', { collect: false, onDemand: { ...onDemand, header: 'X-Look' } }, { url: '/ok', headers: { 'x-hindsight-profile': demand() } }, false],
  ['on demand: too late', { collect: false, onDemand }, { url: '/ok', headers: { 'x-hindsight-profile': demand(-1) } }, false],
  ['on demand: the longest time', { collect: false, onDemand }, { url: '/ok', headers: { 'x-hindsight-profile': demand(30 * DAY) } }, true],
  ['on demand: for too long', { collect: false, onDemand }, { url: '/ok', headers: { 'x-hindsight-profile': demand(31 * DAY) } }, false],
  ['on demand: of another secret', { collect: false, onDemand }, { url: '/ok', headers: { 'x-hindsight-profile': signDemand('y'.repeat(32), Date.now() / 1000 + 60) } }, false],
  ['on demand: a time put off', { collect: false, onDemand }, { url: '/ok', headers: { 'x-hindsight-profile': demand().replace(/^\d+/, '99999999999') } }, false],
  ['on demand: no signature', { collect: false, onDemand }, { url: '/ok', headers: { 'x-hindsight-profile': '99999999999.' } }, false],
  ['on demand: a huge value', { collect: false, onDemand }, { url: '/ok', headers: { 'x-hindsight-profile': '9'.repeat(8_000) } }, false]
]

for (const [name, options, request, profiled] of cases) {
  t.test(name, async (t) => {
    const app = await build(options)
    t.teardown(() => app.close())
    const { headers } = await app.inject(request)
    t.equal(headers['x-debug-token'] !== undefined, profiled)
    t.equal(headers['x-debug-token-link'] !== undefined, profiled)
    t.equal((await app.hindsight.profiler.search({ limit: 10 })).profiles.length, profiled ? 1 : 0)
  })
}

for (const [name, names, header, parameter] of [
  ['the usual', {}, 'x-hindsight-profile', '_profile'],
  ['other', { header: 'X-Look', parameter: 'look' }, 'x-look', 'look']
] as const) {
  t.test(`a signature is a credential, under ${name} names too`, async (t) => {
    const app = await build({ collect: false, onDemand: { ...onDemand, ...names } })
    t.teardown(() => app.close())
    const value = demand()
    await app.inject({ url: '/ok', query: { [parameter]: value, a: 'b' }, headers: { [header]: value, referer: `http://a/?${parameter}=${value}` } })
    const { profiles: [summary] } = await app.hindsight.profiler.search({ limit: 1 })
    const profile = await app.hindsight.profiler.find(summary?.token ?? '')
    t.equal(profile?.url, `http://localhost/ok?${parameter}=******&a=b`)
    t.match(profile?.collectors.request, { headers: { [header]: '******' }, query: { [parameter]: '******', a: 'b' } })
    t.notOk(JSON.stringify(profile).includes(value.slice(11, 40)))
  })
}

t.test('a failure behind the response is kept, though its response had no token', async (t) => {
  const app = await build({ onlyExceptions: true })
  t.teardown(() => app.close())
  const { headers } = await app.inject('/late')
  t.equal(headers['x-debug-token'], undefined)
  const { profiles } = await app.hindsight.profiler.search({ limit: 10 })
  t.match(profiles, [{ status: 200, error: true }])
})

t.test('a share is a share', async (t) => {
  const app = await build({ sampling: 0.5 })
  t.teardown(() => app.close())
  const lots = [0.2, 0.7, 0.4, 0.9]
  t.intercept(Math, 'random', { value: () => lots.shift() ?? 0 })
  const tokens: boolean[] = []
  for (let i = 0; i < 4; i++) tokens.push((await app.inject('/ok')).headers['x-debug-token'] !== undefined)
  t.same(tokens, [true, false, true, false])
})

const mistakes: Array<[name: string, options: object, message: string]> = [
  ['an unknown option', { onlyException: true }, 'Unknown option "profiler.onlyException"; did you mean "onlyExceptions"?'],
  ['a share beyond 1', { sampling: 2 }, 'profiler.sampling: 2 is not a share from 0 to 1'],
  ['a share that is no number', { sampling: Number.NaN }, 'Option "profiler.sampling" must be a number, not NaN'],
  ['a secret that is too short', { onDemand: { secret: 'short' } }, 'profiler.onDemand.secret: 5 characters are too few, at least 32 are needed'],
  ['no secret', { onDemand: {} }, 'profiler.onDemand.secret: it is missing, at least 32 are needed'],
  ['a header that cannot be one', { onDemand: { ...onDemand, header: 'a b' } }, 'profiler.onDemand.header: "a b" is not the name of a header'],
  ['a query parameter that cannot be one', { onDemand: { ...onDemand, parameter: 'a&b' } }, 'profiler.onDemand.parameter: "a&b" is not the name of a query parameter'],
  ['a parameter that cannot be one', { collectParameter: 'a b' }, 'profiler.collectParameter: "a b" is not the name of a query parameter']
]

for (const [name, options, message] of mistakes) {
  t.test(`${name} stops the start`, async (t) => {
    await t.rejects(build(options), { message })
  })
}

t.test('a word that means nothing stops the start', async (t) => {
  await t.rejects(build('everything' as never), { message: 'profiler: "everything" is neither all nor errors' })
})
