import { once } from 'node:events'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { JSDOM } from 'jsdom'
import t, { type Test } from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import { beginServices, openApplications } from '../../src/begin.js'
import { profile } from '../../src/index.js'
import { job } from '../../src/parts/job/index.js'
import { QUEUE_CLIENTS } from '../../src/queues.js'
import { profileMarkdown } from '../support/marks.js'
import type { JobRecorder } from '../../src/recording/jobs.js'
import { requestContext, type JobTrace } from '../../src/recording/trace.js'
import type { Profile, ProfileSummary } from '../../src/store/profile.js'
import { profile as storedProfile } from '../parts/fixture.js'
import { articles } from '../parts/queries/database.js'
import { build, listen, newest, profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const HTML = { accept: 'text/html' }

async function page (app: FastifyInstance, path: string): Promise<string> {
  return (await app.inject({ url: `/_profiler/${path}`, headers: HTML })).body
}

/** The stored profile of a job, when it has a property. */
async function jobWhen (app: FastifyInstance, is: (profile: Profile) => boolean): Promise<Profile> {
  for (;;) {
    const profile = await newest(app)
    if (is(profile)) return profile
    await sleep(10)
  }
}

const summaries = async (app: FastifyInstance, criteria = {}): Promise<ProfileSummary[]> =>
  (await app.hindsight.profiler.search({ criteria, limit: 50 })).profiles

inBothProducts('a job has a profile with its input, result, log lines and calls', async (t, build) => {
  const app = await build((app) => { app.get('/', () => 'called') })
  const origin = `http://127.0.0.1:${await listen(app)}`
  const input = { password: 'correct horse', to: 'ann' }
  const result = await app.hindsight.profile('send invoices', { input, attempt: 2, id: 17, queuedAt: Date.now() - 60_000 }, async () => {
    app.log.info('sending')
    await (await fetch(origin)).text()
    return { sent: 3, secret: 'x' }
  })
  t.same(result, { sent: 3, secret: 'x' }, 'it returns what the work returns')
  const found = await jobWhen(app, ({ kind }) => kind === 'job')
  t.match(found, { kind: 'job', name: 'send invoices', outcome: 'done', attempt: 2, id: '17', exceptions: [], route: null, status: 0 })
  t.match(found, { method: 'JOB', url: 'send invoices', ip: '', events: [] })
  t.ok(Number(found.queued) >= 60_000 && Number(found.queued) < 90_000)
  t.match(found.collectors.job, { input: { password: '******', to: 'ann' }, result: { sent: 3, secret: '******' }, source: /jobs\.test\.ts:\d+$/ })
  t.same(found.logs.map(({ message }) => message), ['sending'])
  t.match(found.collectors['http-client'], { calls: { length: 1 } })
  for (const name of ['request', 'response', 'router', 'headers']) t.notOk(name in found.collectors, name)
  const text = profileMarkdown(found)
  t.match(text, /^# Done\n/)
  t.match(text, /`JOB send invoices`/)
  t.match(text, / · \S+ \S+ after \d[^·]* (?:s|min)[^·]* in the queue$/m)
  t.notMatch(text, /correct horse|no route|from ``|CPU profile/)
  const html = await page(app, found.token)
  for (const label of ['Overview', 'Job', 'Timeline', 'Logs']) t.match(html, `<span>${label}`)
  for (const label of ['Request', 'Headers', 'Route']) t.notMatch(html, `<span>${label}`)
  t.notMatch(html, /Replay…|As curl|correct horse/)
  t.equal((await app.inject({ url: `/_profiler/${found.token}/as/curl` })).statusCode, 409)
  t.match(await page(app, `${found.token}?panel=job`), /correct|\*{6}/)
})

inBothProducts('a job that fails throws the same error, and its profile has the cause', async (t, build) => {
  const app = await build()
  const cause = new RangeError('the disk is full')
  const error = new Error('not sent', { cause })
  await t.rejects(app.hindsight.profile('send', { attempt: 1 }, async () => { throw error }), error)
  t.throws(() => { throw error }, error)
  const found = await jobWhen(app, ({ kind }) => kind === 'job')
  t.match(found, { outcome: 'failed', attempt: 1, exceptions: [{ name: 'RangeError' }, { name: 'Error', message: 'not sent' }] })
  t.match(found.exceptions[1]?.frames[0], { file: /jobs\.test\.ts$/ })
  t.match(profileMarkdown(found), /Error: not sent \(.*\)\. Its root cause is RangeError: the disk is full .* The job send failed in attempt 1 after/)
  t.match(await summaries(app, { error: true }), [{ method: 'JOB', url: 'send', values: { kind: 'job', outcome: 'failed' } }])
  const list = await page(app, '')
  t.match(list, /<span class="status status-5">failed<\/span>/)
  t.match(list, '<table class="rows profiles has-words">')
  t.match(await page(app, 'search?group=failures'), /JOB send/)
})

t.test('a synchronous job, and one that throws a value that is no error', async (t) => {
  const app = await build(t)
  t.equal(await profile('sync', () => 7), 7)
  const nothing: unknown = null
  const thrown = await profile('throw', () => { throw nothing }).catch((error: unknown) => error)
  t.equal(thrown, null)
  await t.rejects(profile('throw', 'no function' as never), { message: /work must be a function/ })
  const found = await jobWhen(app, ({ name }) => name === 'throw')
  t.match(found, { outcome: 'failed', exceptions: [{ name: 'Thrown null' }] })
})

t.test('without a job, the input may be anything', async (t) => {
  const app = await build(t)
  const hostile = { get secret () { throw new Error('no') } }
  const circular: Record<string, unknown> = {}
  circular.self = circular
  for (const input of [hostile, circular, 10n, Symbol('s'), null, () => {}, Buffer.from('x')]) {
    t.equal(await profile('input', { input }, async () => input), input)
  }
  t.equal((await summaries(app)).length, 7)
  class Invoice {
    password = 'hunter2'
    lines = Array.from({ length: 260_000 }, (_, number) => ({ number }))
    get total (): number { throw new Error('no getter runs') }
  }
  await profile('instance', { input: new Invoice() }, () => new Invoice())
  const { collectors: { job } } = await jobWhen(app, ({ name }) => name === 'instance')
  const shown = { password: '******', lines: [{ number: 0 }] }
  t.match(job, { input: shown, result: shown })
  t.ok(JSON.stringify(job).length < 200_000)
})

inBothProducts('the request that queues a job is its parent, in both directions', async (t, build) => {
  const app = await build((app) => {
    app.get('/within', async () => await app.hindsight.profile('within', async () => (await app.inject('/child')).body))
    app.get('/child', () => 'child')
    app.get('/queue', async (request) => request.hindsight.token)
  })
  const within = await profileOf(app, await app.inject('/within'))
  const [job] = await summaries(app, { parent: within.token })
  t.match(job, { url: 'within', parent: within.token })
  t.match(await summaries(app, { parent: job?.token ?? '' }), [{ url: /\/child$/ }], 'and it is the parent of what it sends')
  const response = await app.inject('/queue')
  t.equal(response.body, response.headers['x-debug-token'])
  await app.hindsight.profile('later', { parent: response.body }, async () => {})
  const later = await jobWhen(app, ({ name }) => name === 'later')
  t.equal(later.parent, response.body)
  t.match(await page(app, later.token), /Queued by/)
  t.match(await page(app, response.body), new RegExp(`<h3>Jobs</h3>.*${later.token}`, 's'))
  t.match(await page(app, ''), `queued by <code>${response.body}</code>`)
})

inBothProducts('a request that is over is the parent of a job that it begins later', async (t, build) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => { begin = resolve })
  let ended: Promise<string | null> | undefined
  const app = await build((app) => {
    app.get('/', (request, reply) => {
      const { hindsight } = request
      ended = begun.then(async () => await profile('after', () => hindsight.token))
      reply.send('answered')
    })
  })
  // Jobs of other applications than the last one are stored in that of their request.
  await build()
  const { token } = await profileOf(app, await app.inject('/'))
  for (let i = 0; i < 5; i++) {
    await setImmediate()
    collectGarbage()
  }
  begin()
  t.equal(await ended, token)
  t.match(await summaries(app, { parent: token }), [{ url: 'after', parent: token }])
  t.match(await page(app, token), /<h3>Jobs<\/h3>.*after/s)
})

inBothProducts('what a job injects is for the client of the request in which it began', async (t, build) => {
  const app = await build((app) => {
    const inJobs = async (names: string[]): Promise<string> => {
      const [name, ...others] = names
      if (name === undefined) return (await app.inject({ url: '/boom', headers: HTML })).body
      return await profile(name, async () => await inJobs(others))
    }
    app.get('/boom', () => { throw new Error('a secret of the source') })
    app.get('/job', async () => await inJobs(['one']))
    app.get('/jobs', async () => await inJobs(['one', 'two']))
  })
  for (const url of ['/job', '/jobs']) {
    t.match((await app.inject(url)).body, /<title>a secret/, `${url} for a developer`)
    const foreign = await app.inject({ url, remoteAddress: '203.0.113.7' })
    t.notMatch(foreign.body, /<title>a secret|jobs\.test\.ts/, `${url} for another client`)
  }
  const alone = await profile('alone', async () => await app.inject({ url: '/boom', headers: HTML }))
  t.match(alone.body, /<title>a secret/)
})

inBothProducts('attempts of a job, equal failures of jobs, and equal runs of a schedule are one row each', async (t, build) => {
  const app = await build()
  const fail = async (): Promise<never> => { throw new Error('not sent') }
  for (const attempt of [1, 2, 3]) {
    await app.hindsight.profile('retried', { id: 'a', attempt }, attempt === 3 ? async () => {} : fail).catch(() => {})
  }
  for (const _ of [1, 2]) await app.hindsight.profile('again', fail).catch(() => {})
  for (const name of ['tick', 'tick', 'tick', 'tock']) await app.hindsight.profile(name, { kind: 'schedule' }, async () => {})
  const list = await page(app, '')
  t.match(list, /×3<\/span><span class="hidden-visually"> attempts/)
  t.match(list, /×2<\/span><span class="hidden-visually"> equal failures/)
  t.match(list, /×3<\/span><span class="hidden-visually"> equal runs/)
  t.equal(list.match(/<tbody>/g)?.length, 4)
  const search = async (q: string): Promise<number> =>
    (await app.inject({ url: `/_profiler/search.json?${new URLSearchParams({ q })}` })).json<{ profiles: unknown[] }>().profiles.length
  t.equal(await search('kind:job'), 5)
  t.equal(await search('outcome:failed'), 4)
  t.equal(await search('job:"retried a"'), 3)
  t.equal(await search('kind:schedule'), 4)
})

inBothProducts('the attempts of a job are one row below the request that has queued it', async (t, build) => {
  const app = await build((app) => {
    app.get('/queue', async () => {
      for (const attempt of [1, 2, 3]) {
        await profile('send', { id: 'a', attempt }, async () => { if (attempt < 3) throw new Error('not sent') }).catch(() => {})
      }
      await profile('clean', async () => {})
      return 'queued'
    })
  })
  await app.inject('/queue')
  const rows = [...JSDOM.fragment(await page(app, '')).querySelectorAll('tbody tr')]
  t.same(rows.map((row) => [row.className.replace('has-problem', '').trim(), row.querySelector('td.text')?.firstChild?.textContent]), [
    ['', '/queue · http://localhost'], ['is-child', 'clean'], ['is-child', 'send'], ['is-equal', 'send'], ['is-equal', 'send']
  ])
  t.match(rows[2]?.textContent, /×3 attempts/)
})

inBothProducts('a job that never ends is in the list of what waits', async (t, build) => {
  const app = await build()
  const never = app.hindsight.profile('hang', { attempt: 1 }, async () => await new Promise<string>(() => {}))
  never.catch(() => {})
  const waiting = async (): Promise<Array<{ token: string, url: string, method: string, sentences: string[] }>> =>
    (await app.inject('/_profiler/waiting.json')).json<{ waiting: [] }>().waiting
  let found = await waiting()
  while (found.length === 0) {
    await sleep(50)
    found = await waiting()
  }
  t.match(found, [{ url: 'hang', method: 'JOB' }])
  t.match(await page(app, ''), /<span class="status status-0">running<\/span>/)
  const html = await page(app, found[0]?.token ?? '')
  t.match(html, /The job hang had not ended after/)
  t.match(html, /What does it wait for\?/)
  t.match(html, 'press Trace new requests, and run it again')
  t.notMatch(html, 'send it again')
  t.notMatch(html, /JavaScript|not recorded|was blocked/, 'what the process does meanwhile is not its time')
  await setTracing(app, '1')
  const traced = await page(app, found[0]?.token ?? '')
  await setTracing(app, '0')
  t.match(traced, /New requests and jobs are traced: for the line at which it waits, run it again\.[^]*Stop tracing/)
  t.notMatch(traced, 'press Trace new requests')
})

async function setTracing (app: FastifyInstance, trace: string): Promise<void> {
  const { formToken } = (await app.inject('/_profiler/waiting.json')).json<{ formToken: string }>()
  const payload = new URLSearchParams({ form_token: formToken, trace }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { statusCode } = await app.inject({ method: 'POST', url: '/_profiler/waiting', payload, headers })
  if (statusCode >= 400) throw new Error(`The switch of tracing returned ${statusCode}`)
}

inBothProducts('a job that fails is compared with its last success, and cannot be sent again', async (t, build) => {
  const app = await build()
  const run = async (input: object, work: () => unknown): Promise<Profile> => {
    const before = await newest(app).catch(() => undefined)
    await app.hindsight.profile('import', { kind: 'schedule', input }, async () => work()).catch(() => {})
    return await jobWhen(app, ({ token, kind }) => kind === 'schedule' && token !== before?.token)
  }
  const fail = (): never => { throw new Error('it failed') }
  const success = await run({ file: 'a.csv', rows: 1 }, () => 1)
  const textOf = async ({ token }: Profile): Promise<string> => (await app.inject(`/_profiler/${token}.md`)).body
  const other = await textOf(await run({ file: 'a.csv', rows: 2 }, fail))
  t.match(other, '\ninput rows: 1 → 2\n')
  const same = await run({ file: 'a.csv', rows: 1 }, fail)
  const text = await textOf(same)
  t.match(text, 'No difference was found that may be a cause.')
  t.match(text, `Compared with profile \`${success.token}\`, done, `)
  t.match(text, `Compare: \`fastify-hindsight compare ${success.token} ${same.token}\`.`)
  t.notMatch(text.slice(text.lastIndexOf('## Differences from')), /Replay|Request|replay/)
  const html = await page(app, same.token)
  t.match(html, 'No difference was found that may be a cause.')
  t.notMatch(html, /href="[^"]*\/replay|action="[^"]*\/coverage/)
})

inBothProducts('what a job raises after its end is added to its profile', async (t, build) => {
  const app = await build()
  await app.hindsight.profile('late', async () => {
    setTimeout(() => { app.log.info('after the end') }, 0)
  })
  const found = await jobWhen(app, ({ logs }) => logs.length > 0)
  t.match(found, { name: 'late', outcome: 'done', logs: [{ message: 'after the end' }] })
})

function productionTest (t: Test, profiler: object | 'errors' | undefined, expected: string[]): Promise<unknown> {
  return t.test(JSON.stringify(profiler ?? 'default'), async (t) => {
    const app = await build(t, { debug: false, ...profiler !== undefined && { profiler: profiler as object } })
    t.equal(await app.hindsight.profile('good', async () => 1), 1)
    t.equal(await profile('exported', async () => 2), 2)
    await t.rejects(app.hindsight.profile('bad', async () => { throw new Error('bad') }), { message: 'bad' })
    const names = app.hindsight.hasProfiles ? (await summaries(app)).map(({ url }) => url) : []
    t.same(names.sort(), expected)
  })
}

t.test('in production a job only runs, unless the option profiler says so', async (t) => {
  await productionTest(t, undefined, [])
  await productionTest(t, 'errors', ['bad'])
  await productionTest(t, { production: true }, ['bad', 'exported', 'good'])
  await productionTest(t, { production: true, collect: false }, [])
})

inBothProducts('the findings of a job are those of a request', async (t, build) => {
  const app = await build()
  const database = articles()
  await app.hindsight.profile('loop', async () => {
    const rows = database.prepare('select id, author from articles').all() as Array<{ author: number }>
    for (const { author } of rows) database.prepare('select name from users where id = ?').get(author)
    database.exec('begin')
  })
  const { collectors } = await jobWhen(app, ({ name }) => name === 'loop')
  t.match(collectors.queries, { findings: [{ kind: 'transaction', text: /nor rolled back before the job ended$/ }, { kind: 'n+1', text: /^N\+1: / }] })
})

t.test('the slow plugin of a start is the one with the most time of its own', (t) => {
  const found = (...plugins: Array<[name: string, duration: number]>) =>
    job.findings?.({ plugins: plugins.map(([name, duration]) => ({ name, duration })) }, storedProfile('000001', { kind: 'start', duration: 1500 }))
  const [order, one, two] = [5, '\u2003', '\u2003\u2003']
  t.same(found(['main', 1300], [`${one}loadModels`, 1200], [`${one}routes`, 50]), [{ order, text: 'The plugin loadModels took 1.2 s of the start' }])
  t.same(found(['main', 1300], [`${one}routes`, 1260], [`${two}shop`, 10], [`${two}users`, 1240], ['last', 100]),
    [{ order, text: 'The plugin users took 1.24 s of the start' }])
  t.same(found(['main', 1300], [`${one}routes`, 100], ['last', 100]),
    [{ order, text: 'The plugin main took 1.2 s of the start, without the plugins in it' }])
  t.same(found(['main', 1300], [`${one}a`, 650], [`${one}b`, 650]), [], 'none took half of it')
  t.same(found(), [])
  t.end()
})

inBothProducts('a query that a job returns, and that is sent when it is awaited, belongs to the job', async (t, build) => {
  const database = articles()
  const builder: PromiseLike<unknown[]> = {
    then: async (...args) => await Promise.resolve(database.prepare('select title from articles').all()).then(...args)
  }
  const app = await build((app) => { app.get('/', async () => await profile('report', () => builder)) })
  const request = await profileOf(app, await app.inject('/'))
  t.notMatch(request.collectors.queries, { queries: [{ statement: /title/ }] })
  const [{ token = '' } = {}] = await summaries(app, { parent: request.token })
  t.match((await app.hindsight.profiler.find(token))?.collectors, { queries: { count: 1 }, job: { result: { length: 24 } } })
})

t.test('work runs where the environment does not allow to profile it', async (t) => {
  const { PROFILER } = process.env
  process.env.PROFILER = 'bogus'
  t.teardown(() => { PROFILER === undefined ? delete process.env.PROFILER : process.env.PROFILER = PROFILER })
  const warning = once(process, 'warning')
  t.equal(await profile('alone', () => 1), 1)
  t.equal(await profile('again', () => 2), 2)
  t.match(await warning, [{ name: 'HindsightWarning', message: /^Jobs are not profiled: .*PROFILER/ }])
})

t.test('a private instance is none whose store jobs use', async (t) => {
  const app = Fastify()
  const { setup } = beginServices(app, {}, null, new Set())
  t.notOk(openApplications.has(setup))
  await app.close()
})

t.test('what is said about a job is checked, cut and masked', async (t) => {
  const app = await build(t)
  const odd = { kind: 'other', id: `password=hunter2&${'i'.repeat(500)}`, attempt: NaN, queuedAt: new Date(NaN), parent: '<b>' }
  await profile('n'.repeat(500), odd as object, () => {})
  const found = await jobWhen(app, () => true)
  t.match(found, { kind: 'job', name: 'n'.repeat(200), attempt: undefined, queued: undefined, parent: undefined })
  t.notMatch(found.id, /hunter2/)
  t.ok(String(found.id).length <= 200)
  const secret = `ghp_${'a1'.repeat(18)}`
  await profile(`${'n'.repeat(180)} ${secret}`, { id: `${'i'.repeat(180)} ${secret}` }, () => {})
  const cut = await jobWhen(app, ({ id }) => id?.startsWith('iii') === true)
  t.match([cut.name, cut.url, cut.id], [/^n{180} \*{6}$/, /^n{180} \*{6}$/, /^i{180} \*{6}$/], 'masked before it is cut')
  await profile('ahead', { queuedAt: Date.now() + 60_000 }, () => {})
  t.equal((await jobWhen(app, ({ name }) => name === 'ahead')).queued, undefined, 'by the clock of another machine')
  await profile('no parent', { parent: null }, () => {})
  t.equal((await jobWhen(app, ({ name }) => name === 'no parent')).parent, undefined)
})

t.test('a job is not open when its failure cannot be recorded', async (t) => {
  const app = await build(t)
  const jobs = app.hindsight.recorder?.jobs as JobRecorder
  let trace: JobTrace | undefined
  await profile('bad', () => {
    trace = requestContext.getStore()?.trace as JobTrace
    Object.defineProperty(trace.recording, 'failure', { set () { throw new Error('no') }, get: () => null })
    throw new Error('bad')
  }).catch(() => {})
  t.equal(jobs.unfinished(trace?.recording.token ?? ''), undefined)
})

t.test('a job that BullMQ moves has not failed, and that of a scheduler has no parent', async (t) => {
  const app = await build(t)
  const thrown = ['DelayedError', 'WaitingError', 'WaitingChildrenError'].map((name) => Object.assign(new Error('moved'), { name }))
  const errors = [...thrown, new Error('bullmq:rateLimitExceeded'), new Error('failed')]
  const opts = { telemetry: { metadata: '{"hindsight":"0000aa"}' } }
  for (const error of errors) {
    const [, process] = QUEUE_CLIENTS.bullmq?.Worker?.(['mails', async () => { throw error }]) ?? []
    const job = { name: error.name, data: {}, timestamp: 0, attemptsMade: 0, opts, ...error === errors[0] && { repeatJobKey: 'k' } }
    t.equal(await (process as (job: object) => Promise<unknown>)(job).catch((raised: unknown) => raised), error)
  }
  const found = (await summaries(app)).reverse()
  t.same(found.map(({ values }) => values?.outcome), ['done', 'done', 'done', 'done', 'failed'])
  t.same(found.map(({ parent }) => parent), [undefined, '0000aa', '0000aa', '0000aa', '0000aa'])
})
