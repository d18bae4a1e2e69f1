import { execFile } from 'node:child_process'
import { scrypt } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { MessageChannel, Worker } from 'node:worker_threads'
import { gzip } from 'node:zlib'
import Fastify from 'fastify'
import t from 'tap'
import { performance as clock } from '../../../src/clock.js'
import { overview } from '../../../src/parts/overview/index.js'
import { budgetSentence } from '../../../src/parts/performance/budget.js'
import { performance as performancePart } from '../../../src/parts/performance/index.js'
import { blockBetween, type InternalWork } from '../../../src/recording/event-loop.js'
import { shareTime, type TimeBudget, type Work } from '../../../src/recording/work-log.js'
import { traceOf } from '../../../src/recording/trace.js'
import { unfinishedProfile } from '../../../src/parts/collect.js'
import { recordQuery } from '../../../src/queries/observe.js'
import { inBothProducts } from '../../support/products.js'
import { get, listen, newest, profileOf } from '../../support/app.js'
import { profile } from '../fixture.js'
import { shown, texts } from '../support.js'

const QUERIES = { one: 'query', many: 'queries' }
const TIMERS = { one: 'timer', many: 'timers', rank: 1 as const }
const AWAITS = { one: 'await', many: 'awaits', rank: 2 as const }
const CALLS = { one: 'call', many: 'calls' }
const BUDGET = {
  work: [],
  open: [],
  javascript: 0,
  collection: 0,
  meanwhile: 0,
  starved: 0,
  hindsight: 0,
  sending: 0,
  waiting: 0,
  isShared: false,
  blocks: [],
  collections: []
}

type Sampled = [at: number, idle: number, cpu?: number]
/** Without a CPU time, the thread had the CPU whenever the event loop was not idle. */
const share = (samples: Sampled[], queries: Work[] = [], calls: Work[] = [], readyAt = 0, internal: InternalWork[] = []) => {
  const works = [...queries.map((work) => ({ kind: QUERIES, work })), ...calls.map((work) => ({ kind: CALLS, work }))]
  const shares = shareTime(samples.map(([at, idle, cpu = at - idle]) => ({ at, idle, cpu })), works, readyAt, internal)
  const { work, ...others } = shares
  const sum = work.reduce((sum, { duration }) => sum + duration, 0) + others.javascript + others.starved +
    others.hindsight + others.sending + others.waiting
  t.equal(sum, (samples.at(-1)?.[0] ?? 0) - (samples[0]?.[0] ?? 0), 'the parts are the whole')
  const found = Object.entries(others).filter(([, time]) => time !== 0)
  return { ...Object.fromEntries(work.map(({ many, count, duration }) => [many, [count, duration]])), ...Object.fromEntries(found) }
}

t.test('each part of the time is counted once', async t => {
  t.same(share([[0, 0], [100, 0]]), { javascript: 100 }, 'code')
  t.same(share([[0, 0], [100, 98]]), { javascript: 2, waiting: 98 }, 'a timer')
  t.same(share([[0, 0], [1, 0], [91, 89], [100, 89]], [{ startedAt: 1, endedAt: 91 }]),
    { queries: [1, 90], meanwhile: 1, javascript: 10 }, 'a query')
  t.same(share([[0, 0], [1, 0], [81, 0], [100, 19]], [{ startedAt: 1, endedAt: 81 }]),
    { queries: [1, 80], meanwhile: 80, javascript: 1, waiting: 19 }, 'a query whose result waits for code')
  t.same(share([[0, 0], [1, 0], [81, 0], [90, 0]], [{ startedAt: 1, endedAt: 81, isSync: true }]),
    { queries: [1, 80], javascript: 10 }, 'a query in the thread of the event loop')
  const short = [10, 20, 30].map((startedAt) => ({ startedAt, endedAt: startedAt + 5, isSync: true }))
  t.same(share([[0, 0], [16, 0], [40, 0]], short), { queries: [3, 15], javascript: 25 }, 'short ones between samples')
  t.same(share([[0, 0], [40, 0]], [{ startedAt: 5, endedAt: 25, isSync: true }], [{ startedAt: 10, endedAt: 20, isSync: true }]),
    { queries: [1, 20], calls: [1, 0], javascript: 20 }, 'one within another')
  t.same(share([[0, 0], [40, 0]], [{ startedAt: 50, endedAt: 60, isSync: true }]), { queries: [1, 0], javascript: 40 },
    'one after the response')
  t.same(share([[0, 0], [0, 0], [50, 50], [80, 80]], [{ startedAt: 0, endedAt: 50 }], [{ startedAt: 0, endedAt: 80 }]),
    { queries: [1, 50], calls: [1, 30] }, 'a query and a call at once')
  t.same(share([[0, 0], [0, 0], [40, 40], [90, 90]], [{ startedAt: 40, endedAt: 90, wait: 40 }]),
    { 'waits for a connection': [1, 40], queries: [1, 50] }, 'a query that waits for a connection')
  t.same(share([[0, 0], [50, 50], [100, 100]], [{ startedAt: 40, wait: 40 }], [], 100), { queries: [1, 0], waiting: 100 }, 'one that nothing waits for')
  t.same(share([[0, 0], [10, 10]], [{ startedAt: 0 }]), { queries: [1, 10] }, 'a query that has not ended')
  t.same(share([[0, 0], [50, 50], [60, 60]], [], [{ startedAt: 0 }], 50),
    { calls: [1, 0], waiting: 50, sending: 10 }, 'a call that nothing waits for')
  t.same(share([[0, 0], [10, 10], [30, 30]], [], [], 10), { waiting: 10, sending: 20 }, 'a slow client')
})

t.test('a response that passes on the body of a call has waited until the body began', async (t) => {
  const samples: Sampled[] = [[0, 0], [40, 40], [60, 60], [100, 100]]
  t.same(share(samples, [], [{ startedAt: 0, answeredAt: 40, endedAt: 100 }], 50), { calls: [1, 40], waiting: 20, sending: 40 })
  t.same(share(samples, [], [{ startedAt: 0, answeredAt: 20, endedAt: 40 }], 50), { calls: [1, 40], waiting: 20, sending: 40 }, 'a body that was read')
  t.same(share(samples, [], [{ startedAt: 0, answeredAt: 60 }], 50), { calls: [1, 0], waiting: 60, sending: 40 }, 'not awaited')
})

inBothProducts('a call whose body the response passes on has its time, one whose body it waits for is named', async (t, build) => {
  const server = createServer((request, response) => {
    const [head, end] = request.url === '/late' ? [0, 20_000] : [1_000, 1_500]
    setTimeout(() => response.writeHead(404, { 'content-type': 'application/json' }).write('{"error":'), head)
    setTimeout(() => response.end('"unknown member"}'), end)
  })
  t.teardown(() => server.close().closeAllConnections())
  server.listen(0)
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const app = await build((app) => {
    app.get('/members', async (request, reply) => {
      const answer = await fetch(`${origin}/members`)
      return reply.code(answer.status).type('application/json').send(answer.body)
    })
    app.get('/late', async () => {
      const answer = await fetch(`${origin}/late`)
      return await Promise.race([answer.text(), sleep(1_500, 'too late')])
    })
  })
  const port = await listen(app)
  const budgetOf = async (path: string): Promise<TimeBudget> => {
    const { collectors } = await profileOf(app, await get(port, path))
    return (collectors.performance as { budget: TimeBudget }).budget
  }
  const { work, open } = await budgetOf('/members')
  t.ok((work.find(({ one }) => one === 'call')?.duration ?? 0) > 0)
  t.same(open, [])
  t.same((await budgetOf('/late')).open, [`GET ${origin}/late`])
})

t.test('what other processes took is no JavaScript, and shortens nothing that was awaited', async (t) => {
  t.same(share([[0, 0, 0], [837, 0, 125]]), { javascript: 125, starved: 712 })
  const calls = [0, 60, 120].map((start) => ({ startedAt: start, endedAt: start + 50 }))
  const samples = calls.flatMap(({ startedAt }, i): Sampled[] => [[startedAt, i * 30, i * 7], [startedAt + 50, i * 30 + 30, i * 7 + 5]])
  t.same(share([...samples, [180, 90, 20]], [], calls), { calls: [3, 150], meanwhile: 15, javascript: 5, starved: 25 })
  t.equal(blockBetween({ at: 0, idle: 0, cpu: 0 }, { at: 500, idle: 100, cpu: 40 }), null, 'no block without CPU time')
  t.same(blockBetween({ at: 0, idle: 0, cpu: 0 }, { at: 500, idle: 100, cpu: 60 }), { start: 100, end: 500, cpu: 60 })
})

t.test('the time of Hindsight is its own share, and no part of what was awaited', async (t) => {
  t.same(share([[0, 0], [60, 0]], [], [], 0, [{ start: 5, end: 45 }]), { javascript: 20, hindsight: 40 })
  t.same(share([[0, 0], [60, 0]], [], [{ startedAt: 20, endedAt: 40 }], 0, [{ start: 10, end: 50 }]),
    { calls: [1, 20], javascript: 20, hindsight: 20 })
  // What other processes took is not its share only.
  t.same(share([[0, 0, 0], [60, 0, 30]], [], [], 0, [{ start: 5, end: 45, rate: 0.5 }]), { javascript: 10, starved: 10, hindsight: 40 })
})

t.test('what is waited for is named where nothing else was awaited', async (t) => {
  const timer = (startedAt: number, endedAt?: number, source: string | null = 'app.js:3:1') =>
    ({ kind: TIMERS, work: { startedAt, endedAt, source: () => source } })
  const samples = [0, 5, 30, 100].map((at) => ({ at, idle: at, cpu: 0 }))
  const workOf = (...works: Parameters<typeof shareTime>[1]) => shareTime(samples, works, 100).work.map(({ one, count, duration, source }) =>
    [one, count, duration, source])
  t.same(workOf(timer(0, 100)), [['timer', 1, 100, 'app.js:3:1']])
  t.same(workOf(timer(0, 30), timer(30, 90), timer(90, 95, 'b.js:1:1')), [['timer', 2, 90, 'app.js:3:1'], ['timer', 1, 5, 'b.js:1:1']], 'by its line')
  t.same(workOf(timer(0)), [], 'not a timer that did not run')
  t.same(workOf(timer(0, 110), timer(5, 30, 'b.js:1:1')), [['timer', 1, 25, 'b.js:1:1']], 'nor one that ran after the end of the work')
  t.same(workOf(timer(5, 30), { kind: CALLS, work: { startedAt: 5, endedAt: 100 } }), [['call', 1, 95, undefined]], 'not one of a call')
  t.equal(budgetSentence({ ...BUDGET, work: [{ ...TIMERS, count: 1, duration: 300, source: '/app/src/a.js:3:1' }], open: ['GET http://a.test/'] }, 300),
    '300 ms in 1 timer (/app/src/a.js:3), while GET http://a.test/ had not ended.')
  t.equal(budgetSentence({ ...BUDGET, waiting: 302, open: ['GET http://a.test/', 'a query'] }, 302),
    '302 ms waiting, while GET http://a.test/, a query had not ended.')
})

inBothProducts('a job that is done has not waited for the interval that it has set', async (t, build) => {
  const app = await build(() => {})
  let interval: NodeJS.Timeout | undefined
  await app.hindsight.profile('work', async () => {
    interval = setInterval(() => {}, 60_000)
    await sleep(100) // the job
  })
  clearInterval(interval)
  while ((await newest(app)).kind !== 'job') await sleep(10)
  const { work } = ((await newest(app)).collectors.performance as { budget: TimeBudget }).budget
  const line = readFileSync(import.meta.filename, 'utf8').split('\n').findIndex((text) => text.endsWith('// the job')) + 1
  t.match(work, [{ one: 'timer', count: 1, source: new RegExp(`budget\\.test\\.ts:${line}:`) }])
  t.equal(work.length, 1)
})

t.test('the time without recorded work is that of the line whose await has not ended', async (t) => {
  const wait = (kind: string, source: string | null) => ({ kind, name: '', source, start: 0 })
  const budget = { ...BUDGET, javascript: 1_300, waiting: 34_300 }
  const read = (...waits: object[]) => {
    const collectors = { performance: { budget }, waiting: { in: null, for: waits, traced: true } }
    const unfinished = profile('000001', { status: 0, duration: 35_600, collectors })
    return [performancePart.sentence?.({ budget }, unfinished), texts(shown(overview, unfinished), '.legend span').at(-1)]
  }
  t.same(read(wait('await', '/app/src/a.js:70'), wait('promise', '/app/src/a.js:72')), [
    '35.6 s: 1.3 s of JavaScript, 34.3 s waiting, while an await (/app/src/a.js:70), a promise (/app/src/a.js:72) had not ended.', 'waiting 34.3 s'
  ])
  for (const waits of [[], [wait('await', null)], [wait('timer', '/app/src/a.js:3')]]) {
    t.same(read(...waits), ['35.6 s: 1.3 s of JavaScript, 34.3 s waiting for something that was not recorded.', 'not recorded 34.3 s'])
  }
})

t.test('a line that awaits has the idle time of nothing else, the innermost first', async (t) => {
  const line = (startedAt: number, endedAt: number, source: string | null) =>
    ({ kind: AWAITS, work: { startedAt, endedAt, source: () => source } })
  const works = [line(0, 90, 'outer.js:1:1'), line(10, 60, 'inner.js:1:1'), line(5, 95, null), { kind: CALLS, work: { startedAt: 10, endedAt: 30 } }]
  const samples = [[0, 0], [10, 10], [30, 30], [60, 40], [90, 70], [100, 80]].map(([at = 0, idle = 0]) => ({ at, idle, cpu: at - idle }))
  const { work, javascript, waiting } = shareTime(samples, works, 100)
  t.same(work.map(({ one, duration, source }) => [one, duration, source]),
    [['call', 20, undefined], ['await', 10, 'inner.js:1:1'], ['await', 40, 'outer.js:1:1']])
  // The code that ran meanwhile is JavaScript.
  t.same([javascript, waiting], [20, 10])
})

inBothProducts('a lock and an event that a request has waited for have their lines, if waits are traced', async (t, build) => {
  const events = new EventEmitter()
  let unlocked: Promise<unknown> = Promise.resolve()
  // The promises are those of the test: no timer of the request.
  const release = async (): Promise<void> => {
    await once(events, 'waiting')
    // Several times: the event loop is not idle in a process that does not run when a timer ends.
    for (let i = 0; i < 10; i++) await sleep(100)
    events.emit('done')
  }
  const app = await build((app) => {
    app.get('/lock', async () => {
      setImmediate(() => events.emit('waiting'))
      await unlocked // lock
      return 'ok'
    })
    app.get('/event', async () => {
      setImmediate(() => events.emit('waiting'))
      await once(events, 'done') // event
      return 'ok'
    })
  }, { profiler: { traceWaits: true } })
  for (const name of ['lock', 'event']) {
    unlocked = release()
    const { collectors } = await profileOf(app, await app.inject(`/${name}`))
    const { work, waiting } = (collectors.performance as { budget: TimeBudget }).budget
    const line = readFileSync(import.meta.filename, 'utf8').split('\n').findIndex((text) => text.endsWith(`// ${name}`)) + 1
    const wait = work.find(({ one }) => one === 'await')
    t.match(wait, { count: 1, source: new RegExp(`budget\\.test\\.ts:${line}:`) }, name)
    t.ok((wait?.duration ?? 0) > waiting, name)
  }
})

t.test('waits of a kind are one share of the bar, whatever their lines are', (t) => {
  const waitAt = (source: string, duration: number) => ({ ...TIMERS, count: 1, duration, source })
  const budget = { ...BUDGET, work: [waitAt('/a.js:1:1', 100), waitAt('/a.js:2:1', 50)], javascript: 10 }
  const page = shown(overview, profile('000001', { collectors: { performance: { budget } } }))
  t.same(texts(page, '.legend > span'), ['timers 150 ms', 'JavaScript 10 ms'])
  t.equal(page.querySelectorAll('.budget rect').length, 2)
  t.end()
})

inBothProducts('a request says at which line it waited, and what had not ended', async (t, build) => {
  const supplier = createServer(() => {}).listen(0)
  await once(supplier, 'listening')
  const url = `http://127.0.0.1:${(supplier.address() as AddressInfo).port}/price`
  const app = await build((app) => {
    app.get('/timer', async () => await sleep(60, 'ok'))
    app.get('/file', async () => (await readFile(import.meta.filename)).length)
    app.get('/scrypt', async () => String(await promisify(scrypt)('password', 'salt', 64)).length)
    app.get('/zlib', async () => (await promisify(gzip)('text')).length)
    app.get('/child', async () => (await promisify(execFile)(process.execPath, ['--version'])).stdout)
    app.get('/dns', async () => { await Promise.allSettled([lookup('localhost')]) })
    app.get('/race', async () => {
      const leave = new AbortController()
      const call = fetch(url, { signal: leave.signal }).catch(() => 'left')
      const first = await Promise.race([call, sleep(60, 'late')])
      setImmediate(() => leave.abort())
      return first
    })
  })
  t.teardown(() => supplier.close())
  supplier.unref()
  const budgetAt = async (path: string) => ((await profileOf(app, await app.inject(path))).collectors.performance as { budget: TimeBudget }).budget
  for (const [path, one] of Object.entries({
    '/timer': 'timer', '/file': 'file operation', '/scrypt': 'scrypt', '/zlib': 'zlib stream', '/child': 'child process', '/dns': 'DNS lookup'
  })) {
    const { work } = await budgetAt(path)
    t.match(work.find((wait) => wait.one === one)?.source, /budget\.test\.ts:\d+/, path)
  }
  const { work, open } = await budgetAt('/race')
  t.match(work.find(({ one }) => one === 'timer')?.source, /budget\.test\.ts:\d+/)
  t.same(open, [`GET ${url}`])
})

t.test('the sentence has what takes a share of the time', async t => {
  const work = [{ ...QUERIES, count: 24, duration: 96 }, { ...CALLS, count: 2, duration: 40 }]
  t.equal(budgetSentence({ ...BUDGET, work, javascript: 38, waiting: 13 }, 187),
    '187 ms: 96 ms in 24 queries, 40 ms in 2 calls, 38 ms of JavaScript, 13 ms waiting for something that was not recorded.')
  t.equal(budgetSentence({ ...BUDGET, javascript: 100, collection: 30, waiting: 1 }, 101),
    '101 ms: 100 ms of JavaScript (30 ms of it garbage collection).')
  t.equal(budgetSentence({ ...BUDGET, javascript: 157 }, 114), '114 ms of JavaScript.', 'not the page of Hindsight')
  t.equal(budgetSentence({ ...BUDGET, javascript: 5, collection: 3 }, 2),
    '2 ms in which the event loop was busy (2 ms of it garbage collection).', 'not more than all')
  t.equal(budgetSentence({ ...BUDGET, starved: 2.08 }, 2.08), '2.08 ms in which the event loop was busy.', 'the CPU time is counted in ticks')
  t.equal(budgetSentence({ ...BUDGET, starved: 3.68 }, 3.67), '3.67 ms in which the event loop was busy.', 'not more than the duration')
  t.equal(budgetSentence({ ...BUDGET, javascript: 4, starved: 6 }, 10),
    '10 ms: 4 ms of JavaScript, 6 ms in which other processes had the CPU, or a synchronous call waited.')
  const short = profile('000001', { collectors: { performance: { budget: { ...BUDGET, starved: 2, waiting: 1 } } } })
  t.same(texts(shown(overview, short), '.legend > span'), ['busy 2 ms', 'not recorded 1 ms'])
  t.equal(budgetSentence({ ...BUDGET, javascript: 50, sending: 50, isShared: true }, 100),
    '100 ms: 50 ms of JavaScript (other work included), 50 ms sending or streaming the response.')
  t.equal(budgetSentence({ ...BUDGET, javascript: 125, starved: 712, hindsight: 10 }, 847),
    '847 ms: 125 ms of JavaScript, 712 ms in which other processes had the CPU, or a synchronous call waited, 10 ms of Hindsight.')
  t.equal(budgetSentence({ ...BUDGET, work: work.slice(1), meanwhile: 30 }, 40), '40 ms: 40 ms in 2 calls, 30 ms of JavaScript meanwhile.')
  t.equal(budgetSentence({ ...BUDGET, work: work.slice(1), meanwhile: 30, isShared: true }, 40),
    '40 ms: 40 ms in 2 calls, 30 ms of JavaScript meanwhile (other work included).')
})

inBothProducts('a worker thread is one, until its last message or its exit, and a message channel is none', async (t, build) => {
  const lasting = 'setTimeout(() => require("worker_threads").parentPort.postMessage("done"), 50); setTimeout(() => {}, 10_000)'
  const app = await build((app) => {
    app.get('/exit', async () => String(await once(new Worker('setTimeout(() => {}, 50)', { eval: true }), 'exit')))
    app.get('/message', async () => {
      const worker = new Worker(lasting, { eval: true })
      await once(worker, 'message')
      void worker.terminate()
      return 'answered'
    })
    app.get('/both', async () => {
      const { port1, port2 } = new MessageChannel()
      const workers = [1, 2].map(() => new Worker(lasting, { eval: true }))
      const other = new MessageChannel()
      await Promise.all(workers.map(async (worker) => await once(worker, 'message')))
      for (const worker of workers) void worker.terminate()
      for (const port of [port1, port2, other.port1, other.port2]) port.close()
      return 'answered'
    })
    app.get('/channel', async () => {
      const { port1, port2 } = new MessageChannel()
      port2.postMessage('hello')
      await once(port1, 'message')
      port1.close()
      return 'received'
    })
  })
  const workersAt = async (path: string) => {
    const { work } = ((await profileOf(app, await app.inject(path))).collectors.performance as { budget: TimeBudget }).budget
    return work.filter(({ one }) => one === 'worker thread')
  }
  for (const [path, count] of Object.entries({ '/exit': 1, '/message': 1, '/both': 2 })) {
    const workers = await workersAt(path)
    t.match(workers, [{ count, source: /budget\.test\.ts:\d+/ }], path)
    t.equal(workers.length, 1, path)
    t.ok(Number(workers[0]?.duration) >= 50, path)
  }
  t.same(await workersAt('/channel'), [])
})

inBothProducts('a timer that a package sets is none that the work waits for', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      // It limits the time of each plugin by a timer.
      const other = Fastify()
      other.register(async function slow () { await sleep(60) })
      await other.ready()
      await other.close()
      return 'ready'
    })
  })
  const { collectors } = await profileOf(app, await app.inject('/'))
  const timers = (collectors.performance as { budget: TimeBudget }).budget.work.filter(({ one }) => one === 'timer')
  t.match(timers, [{ count: 1, source: /budget\.test\.ts:\d+/ }])
  const line = Number(/:(\d+):\d+$/.exec(String(timers[0]?.source))?.[1])
  t.match(readFileSync(import.meta.filename, 'utf8').split('\n')[line - 1], 'sleep(60)')
})

inBothProducts('the budget of a request is in its profile and on its diagnostic page', async (t, build) => {
  const app = await build(async (app) => {
    app.get('/', async () => {
      const end = recordQuery({ system: 'postgresql', statement: 'select 1', parameters: [] })
      await sleep(60)
      end({ rows: 1 })
      await sleep(60)
      throw new Error('late')
    })
  })
  // Modules are loaded with the first request.
  await app.inject({ url: '/', headers: { accept: 'text/html' } })
  const response = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  const { collectors, duration } = await profileOf(app, response) as { collectors: Record<string, any>, duration: number }
  const { work, javascript, starved, hindsight, waiting, sending } = collectors.performance.budget
  t.match(work, [{ one: 'query', count: 1 }, { one: 'timer', count: 1, source: /budget\.test\.ts:\d+/ }])
  const worked = (work as TimeBudget['work']).reduce((sum, { duration }) => sum + duration, 0)
  t.ok(Math.abs(worked + javascript + starved + hindsight + waiting + sending - duration) < 0.01, 'the parts are the whole')
  t.match(response.body, /<p>[\d.]+&#160;m?s: /)
  const { body: panel } = await app.inject(`/_profiler/${response.headers['x-debug-token'] as string}?panel=overview`)
  t.match(panel, /<p>[\d.]+&#160;m?s: [\d.]+&#160;m?s .*\.<\/p>/)
})

inBothProducts('the diagnostic page counts no work for which the failure did not wait', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      recordQuery({ system: 'postgresql', statement: 'select 1', parameters: [] })
      await sleep(150)
      throw new Error('before the end of the query')
    })
  })
  const { body } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  // The time of the request is left out where it is shown as that of the timer.
  t.match(body, /<p>(?:[\d.]+&#160;m?s: )?[\d.]+&#160;m?s in 1 timer \(/)
})

inBothProducts('the time in which the diagnostic page is made is none of the request', async (t, build) => {
  const HOUR = 3_600_000
  let offset = 0
  const { now } = clock
  clock.now = () => now.call(clock) + offset
  t.teardown(() => { clock.now = now })
  const app = await build((app) => {
    app.get('/', async (request) => traceOf(request).recording.measureInternal(() => {
      offset += HOUR
      const { duration, collectors } = unfinishedProfile(traceOf(request), [performancePart])
      return { duration, ...(collectors.performance as { budget: TimeBudget }).budget }
    }))
  })
  const { duration, javascript, starved, waiting } = (await app.inject('/')).json<TimeBudget & { duration: number }>()
  t.ok(duration < HOUR)
  t.ok(javascript + starved + waiting <= duration, 'nor of its parts')
})

inBothProducts('a clock that the application replaces does not change its times', async (t, build) => {
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  const app = await build((app) => {
    app.get('/', async () => {
      Object.assign(performance, { now: () => now.call(performance) + 3_600_000 })
      const end = recordQuery({ system: 'postgresql', statement: 'select 1', parameters: [] })
      await sleep(20)
      end({ rows: 1 })
      return 'ok'
    })
  })
  const response = await app.inject('/')
  const { duration, collectors, events } = await profileOf(app, response)
  const { budget, handler } = collectors.performance as { budget: TimeBudget, handler: number }
  const { queries: [query] } = collectors.queries as { queries: Array<{ duration: number }> }
  t.same(budget.blocks.filter((block) => block.duration > 60_000), [])
  t.same([duration, handler, query?.duration, ...events.map((event) => event.duration)].filter((time) => Number(time) > 60_000), [])
})

inBothProducts('requests for pages of the profiler are no other requests', async (t, build) => {
  let [arrived, expected] = [0, 1]
  let complete = (): void => {}
  let areComplete = Promise.resolve()
  const app = await build((app) => {
    app.get('/', async () => {
      if (++arrived === expected) complete()
      await areComplete
      return 'ok'
    })
  })
  const origin = `http://127.0.0.1:${await listen(app)}`
  const isShared = async (): Promise<unknown> => {
    const headers = Object.fromEntries((await fetch(origin)).headers)
    return ((await profileOf(app, { headers })).collectors.performance as { budget: TimeBudget }).budget.isShared
  }
  const leave = new AbortController()
  const stream = await fetch(`${origin}/_profiler/stream`, { signal: leave.signal })
  t.equal(stream.status, 200)
  t.equal(await isShared(), false)
  leave.abort()
  // Each is answered when both have arrived.
  expected += 2
  areComplete = new Promise((resolve) => { complete = resolve })
  const other = fetch(origin)
  t.equal(await isShared(), true)
  await other
})

inBothProducts('garbage collections are known of a request that does not wait for anything', async (t, build) => {
  const app = await build((app) => {
    app.get('/', () => Array.from({ length: 1_000_000 }, (_, i) => ({ i, text: `${i}`.repeat(3) })).length)
  })
  const response = await app.inject('/')
  // Reading a profile at once makes it before the collections are known, which takes some turns of the event loop.
  for (let i = 0; i < 10; i++) await sleep(5)
  const { collectors } = await profileOf(app, response)
  const { budget: { collection, collections } } = collectors.performance as { budget: TimeBudget }
  t.ok(collection > 0 && collections.length > 0, `${collection}`)
})
