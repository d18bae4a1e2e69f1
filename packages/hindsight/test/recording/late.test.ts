import { AsyncResource } from 'node:async_hooks'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { recordQuery } from '../../src/queries/observe.js'
import type { Profile } from '../../src/store/profile.js'
import { inBothProducts } from '../support/products.js'

const sink = createServer((_request, response) => { setTimeout(() => response.end('{}'), 300) }).listen(0)
await once(sink, 'listening')
t.teardown(() => sink.close())
const address = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/stock`

/** A promise, and what resolves it: what a handler does when it has resolved is done after the response, also on a busy machine. */
function moment (): { answered: () => void, isAnswered: Promise<void> } {
  let answered = (): void => {}
  const isAnswered = new Promise<void>((resolve) => { answered = resolve })
  return { answered, isAnswered }
}

/** The profile of a response, when it fits; fails the test after twenty seconds. */
async function completed (app: FastifyInstance, { headers }: { headers: object }, fits: (profile: Profile) => boolean): Promise<Profile> {
  const token = String((headers as Record<string, unknown>)['x-debug-token'])
  for (let left = 400; left > 0; left--) {
    const profile = await app.hindsight.profiler.find(token)
    if (profile !== undefined && fits(profile)) return profile
    await sleep(50)
  }
  throw new Error('The profile was not completed')
}

const lines = ({ logs }: Profile, text: string) => logs.filter(({ message }) => message.includes(text))

inBothProducts('log lines, console, warnings and errors after the response are in its profile', async (t, build) => {
  const { answered, isAnswered } = moment()
  const app = await build((app) => {
    app.get('/:id', async (request) => {
      isAnswered.then(() => {
        setTimeout(() => {
          request.log.info({ password: 'hunter2', id: 's3cret-path' }, 'written later')
          app.log.info('written by the logger of the application')
          request.hindsight.capture(new Error('captured later'))
        }, 300)
        setTimeout(() => request.log.info('written again'), 900)
      }, () => {})
      return {}
    })
  })
  const response = await app.inject('/s3cret-path')
  answered()
  const profile = await completed(app, response, (one) => lines(one, 'written again').length > 0)
  t.equal(lines(profile, 'written later').length, 1)
  t.match(lines(profile, 'written later')[0], { level: 'info', context: { password: '******' } })
  t.ok((lines(profile, 'written later')[0]?.offset ?? 0) > profile.duration)
  t.equal(lines(profile, 'by the logger of the application').length, 1)
  t.match(profile.exceptions, [{ message: 'captured later' }])
  t.equal(profile.status, 200)
})

inBothProducts('queries and calls that end after the response are in its profile once', async (t, build) => {
  const { answered, isAnswered } = moment()
  const app = await build((app) => {
    app.get('/', async () => {
      const query = (id: number) => recordQuery({ system: 'postgresql', statement: 'select name from item where id = $1', parameters: [id] })
      query(1)({ rows: 1 })
      const end = query(2)
      const call = fetch(address)
      isAnswered.then(() => {
        setTimeout(() => {
          end({ rows: 1 })
          query(3)({ rows: 1 })
        }, 300)
      }, () => {})
      call.then((answer) => answer.text()).catch(() => {})
      return {}
    })
  })
  const response = await app.inject('/')
  answered()
  const ended = ({ collectors }: Profile): boolean => {
    const { queries, 'http-client': client } = collectors as Record<string, any>
    return queries?.queries.length === 3 && typeof client?.calls[0]?.duration === 'number'
  }
  const { collectors, duration } = await completed(app, response, ended)
  const { queries, 'http-client': client } = collectors as Record<string, any>
  t.match(queries, { count: 3, failed: 0, queries: [{ rows: 1 }, { rows: 1 }, { rows: 1 }], groups: [{ count: 3 }] })
  t.equal(queries.groups.length, 1)
  t.ok(queries.queries[1].duration >= 250, 'the query that was pending')
  t.ok(queries.queries[2].start > duration)
  t.match(client, { count: 1, calls: [{ status: 200 }] })
  const { body } = await app.inject(`/_profiler/${String(response.headers['x-debug-token'])}?panel=queries`)
  t.match(body, 'id="query-3"')
})

inBothProducts('calls and queries that never end keep no request in memory', async (t, build) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const silent = createServer(() => {}).listen(0)
  await once(silent, 'listening')
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const { port } = silent.address() as AddressInfo
  const requests: Array<WeakRef<object>> = []
  const pending: unknown[] = []
  const app = await build((app) => {
    app.get('/', async (request) => {
      requests.push(new WeakRef(request))
      pending.push(recordQuery({ system: 'postgresql', statement: 'listen orders', parameters: [] }))
      fetch(`http://127.0.0.1:${port}`).catch(() => {})
      return {}
    })
  })
  for (let i = 0; i < 20; i++) await app.inject('/')
  await app.hindsight.profiler.flush()
  const alive = (): number => requests.filter((request) => request.deref() !== undefined).length
  for (let left = 500; left > 0 && alive() > 1; left--) {
    await sleep(20)
    collectGarbage()
  }
  // The last one may be held by what the test has called.
  t.ok(alive() <= 1, `${alive()} of ${requests.length} requests are in memory`)
  t.equal(pending.length, 20)
})

/** What applications do after a response: called with the request and the reply of a handler that has answered. */
const LATER: Record<string, (request: FastifyRequest, reply: FastifyReply) => void> = {
  'a query': () => send(2)({ rows: 1 }),
  'a changed user': (request) => { Object.assign(userOf(request), { name: 'CHANGED' }) },
  'changed path parameters': (request) => { Object.assign(request.params as object, { id: 'CHANGED' }) },
  'a changed status': (_, reply) => { reply.code(503) },
  'a captured error': (request) => request.hindsight.capture(CAPTURED)
}

const CAPTURED = new Error('captured later')
const userOf = (request: object): object => (request as { user: object }).user
const send = (id: number) => recordQuery({ system: 'postgresql', statement: 'select name from item where id = $1', parameters: [id] })

/** The profile without what differs between two equal requests. */
function comparable ({ token, ...profile }: Profile): unknown {
  const { budget, ...performance } = profile.collectors.performance as { budget: { work: Array<{ count: number }> } }
  const differs = /^(?:time|responseTime|offset|start|duration|(?:handler|serialize|hindsight)(?:Start)?|firstByte|performance|collections?|javascript)$/
  return JSON.parse(JSON.stringify({ ...profile, work: budget.work.map(({ count }) => count), performance }, (name, value: unknown) => {
    if (differs.test(name)) return undefined
    return typeof value === 'string' ? value.replaceAll(token, 'TOKEN').replace(/req-\w+|[\d.]+ m?s\b/g, '…') : value
  }))
}

inBothProducts('what happens before the profile is made is in it like what happens later', async (t, build) => {
  for (const [name, later] of Object.entries(LATER)) {
    const answered: Array<() => void> = []
    const pending: Array<ReturnType<typeof send>> = []
    const app = await build((app) => {
      app.decorateRequest('user')
      app.get('/:id', async (request, reply) => {
        Object.assign(request, { user: { name: 'ann' } })
        send(1)({ rows: 1 })
        pending.push(send(3))
        answered.push(AsyncResource.bind(() => {
          later(request, reply)
          pending.shift()?.({ rows: 1 })
        }))
        return {}
      })
    })
    const ended = ({ collectors }: Profile): boolean =>
      (collectors.queries as { queries: Array<{ duration: number | null }> }).queries.every(({ duration }) => duration !== null)
    const responses: Array<{ headers: object }> = []
    for (const wait of [turn, () => app.hindsight.profiler.flush()]) {
      responses.push(await app.inject('/one'))
      await wait()
      answered.shift()?.()
      await app.hindsight.profiler.flush()
    }
    const [early, late] = await Promise.all(responses.map((response) => completed(app, response, ended)))
    t.same(comparable(early as Profile), comparable(late as Profile), name)
    t.match(late, { status: 200, route: { params: { id: 'one' } }, collectors: { response: { status: 200 } } }, name)
  }
})

inBothProducts('an error that is changed after its response is in the profile as it was', async (t, build) => {
  const errors: Error[] = []
  const app = await build((app) => {
    app.get('/', async () => {
      const error = Object.assign(new Error('boom'), { detail: { id: 1 } })
      errors.push(error)
      throw error
    })
  })
  const { headers } = await app.inject('/')
  await turn()
  Object.assign(errors[0] as Error, { message: 'CHANGED', stack: 'CHANGED', statusCode: 418, detail: { id: 2 } })
  const profile = await app.hindsight.profiler.find(String(headers['x-debug-token']))
  t.match(profile, { status: 500, exceptions: [{ message: 'boom', stack: /^Error: boom\n/, fields: { detail: { id: 1 } } }] })
  t.equal(profile?.exceptions[0]?.statusCode, undefined)
})

inBothProducts('the hooks of a response that run after it are recorded until then', async (t, build) => {
  const app = await build((app) => {
    app.addHook('onResponse', async function first () { await turn() })
    app.addHook('onResponse', async function second () { throw new Error('later') })
    app.get('/', async () => ({}))
  })
  const response = await app.inject('/')
  const { events } = await completed(app, response, ({ exceptions }) => exceptions.length > 0)
  t.same(events.filter(({ stage }) => stage === 'onResponse').map(({ listener, outcome }) => [listener, outcome]), [['first', 'ran']])
})
