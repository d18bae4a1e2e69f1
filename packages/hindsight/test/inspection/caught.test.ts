import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { CaughtLine } from '../../src/errors/caught-errors.js'
import type { Profile, ProfileSummary } from '../../src/store/profile.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'
import { testdir } from '../support/folder.js'
import { withoutMarks } from '../support/marks.js'
import { catchingNone, PACKAGE, swallowing } from '../fixtures/failing/swallowing.js'

allowInspection()

function thrower (t: Test): Record<string, unknown> {
  const folder = testdir(t, { node_modules: { thrower: { 'index.js': PACKAGE } } })
  return createRequire(join(folder, 'app.js'))('thrower') as Record<string, unknown>
}

async function profileOf (t: Test, app: FastifyInstance, path: string): Promise<Profile> {
  t.equal(await hasInspection(), true)
  const { headers } = await app.inject({ url: path })
  const { body } = await app.inject(`/_profiler/${String(headers['x-debug-token'])}.json`)
  return JSON.parse(body) as Profile
}

function caughtIn ({ collectors }: Profile): { count: number, lines: CaughtLine[], note?: string } | undefined {
  return collectors.caughtErrors as ReturnType<typeof caughtIn>
}

function codeAt (source: string): string {
  const [, file = '', line] = /^(.*):(\d+):\d+$/.exec(source) ?? []
  return readFileSync(file, 'utf8').split('\n')[Number(line) - 1] ?? ''
}

inBothProducts('each error that the application catches is in the profile, by its line', async (t, build) => {
  const handlers = swallowing(thrower(t))
  t.ok(Object.keys(handlers).length >= 30)
  const app = await build((app) => { for (const [name, handler] of Object.entries(handlers)) app.get(`/${name}`, handler) })
  for (const name of Object.keys(handlers)) {
    const caught = caughtIn(await profileOf(t, app, `/${name}`))
    t.match(caught, { count: 1, lines: [{ count: 1, errors: [{ message: /./ }] }] }, name)
    t.match(codeAt(caught?.lines[0]?.source ?? ''), /\/\/.*<-/, name)
  }
})

inBothProducts('an error that ends a request, or that a package catches, is no caught one', async (t, build) => {
  const handlers = catchingNone(thrower(t))
  const app = await build((app) => { for (const [name, handler] of Object.entries(handlers)) app.get(`/${name}`, handler) })
  for (const name of Object.keys(handlers)) t.equal(caughtIn(await profileOf(t, app, `/${name}`)), undefined, name)
})

inBothProducts('a hook that fails again for the response about its error has caught nothing', async (t, build) => {
  const app = await build((app) => {
    app.addHook('onSend', async function sign ({ url }) { if (url === '/signed') throw new Error('no key') })
    app.get('/signed', async () => 'signed')
  })
  t.equal(await hasInspection(), true)
  await app.inject('/signed')
  // The response of Fastify about the second failure has no token.
  const { profiler } = app.hindsight
  let found: ProfileSummary | undefined
  while (found === undefined) {
    await setImmediate()
    found = await profiler.latest({ url: '/signed' })
  }
  const signed = await profiler.find(found.token) as Profile
  t.match(signed.exceptions, [{ message: 'no key' }])
  t.equal(caughtIn(signed), undefined)
})

inBothProducts('a caught error explains a server error, and is below the sentence of a success', async (t, build) => {
  const app = await build((app) => {
    const load = async (id: number): Promise<number> => {
      await null
      throw new Error(`connection refused ${String(id).length}`)
    }
    app.get('/refused', async (_request, reply) => await load(42).catch(() => reply.code(500).send({ sent: true })))
    app.get('/empty', async () => {
      const results = await Promise.allSettled([load(42), load(43)])
      return results.length
    })
    app.get('/lines', async () => {
      try { throw new Error('first') } catch {}
      try { throw new Error('second') } catch {}
      try { throw new Error('third') } catch {}
      try { throw Object.assign(new Error(), { name: 'Fourth' }) } catch {}
      try { throw new Error('fifth') } catch {}
      return []
    })
    app.get('/probing', async () => {
      let count = 0
      for (const text of ['a', 'b', 'c', 'd', 'e']) try { JSON.parse(text) } catch { count++ }
      return count
    })
  })
  const refused = await profileOf(t, app, '/refused')
  const values = [{ variables: [{ name: 'id', value: '42' }] }]
  t.match(refused.exceptions, [{ message: 'connection refused 2', logged: 'This error was caught:', values }])
  t.equal(caughtIn(refused), undefined)
  const sentence = /returned 500 Internal Server Error in .*\. This error was caught: Error: connection refused 2 \(packages.*caught\.test\.ts:\d+\)/
  t.match(withoutMarks((await app.inject(`/_profiler/${refused.token}.md`)).body).replaceAll('\\', ''), sentence)
  t.match((await app.inject(`/_profiler/${refused.token}?panel=exceptions`)).body, 'This error was caught; it was not thrown to Fastify.')

  const empty = await profileOf(t, app, '/empty')
  const errors = [{ values: [{ name: 'id', value: '42' }] }, { values: [{ value: '43' }] }]
  t.match(caughtIn(empty), { count: 2, lines: [{ function: 'load', count: 2, errors }] })
  const errorOf = (id: number): string => `Error: connection refused 2, id = ${id}`
  const text = new RegExp(`2 errors were caught: \`load\` \\(packages.*caught\\.test\\.ts:\\d+\\) ${errorOf(42)}, and ${errorOf(43)}`)
  const { body } = await app.inject(`/_profiler/${empty.token}`)
  const [, lead = '', below = ''] = /<p class="lead[^>]*>(.*?)<\/p>(.*)/s.exec(body.replace(/<\/?(?:a|code)\b[^>]*>/g, '')) ?? []
  t.notMatch(lead, 'caught')
  t.match(below, new RegExp(text.source.replaceAll('`', '')))
  const [menu = ''] = body.split('without data')
  t.match(menu, '?panel=exceptions"', 'its panel is no empty one')
  const markdown = withoutMarks((await app.inject(`/_profiler/${empty.token}.md`)).body)
  t.match(markdown.replaceAll('\\', ''), text)
  t.match(markdown, /## Caught errors\n\n2 errors were caught\.\n\n- `load \(.*id = 42/)
  t.match((await app.inject(`/_profiler/${empty.token}?panel=exceptions`)).body, /Caught errors.*2 errors were caught\..*id = 42/s)

  const lines = await profileOf(t, app, '/lines')
  const ofLines = withoutMarks((await app.inject(`/_profiler/${lines.token}.md`)).body)
  t.match(ofLines, /5 errors were caught: .*first; .*second; .*third; and those of 2 more lines\n.* Fourth\n.*fifth/s)

  const probing = await profileOf(t, app, '/probing')
  t.match(caughtIn(probing), { count: 5, lines: [{ count: 5, errors: { length: 3 } }] })
  t.match((await app.inject(`/_profiler/${probing.token}.md`)).body, /, and 2 more errors/)
})

inBothProducts('no code of the application runs for a caught error, and secrets are masked', async (t, build) => {
  let calls = 0
  const app = await build((app) => app.get('/hostile', async () => {
    const password = 'correct horse'
    class Hostile extends Error {
      override get name (): string { calls++; return password }
      override get message (): string { return String(calls++) }
    }
    const hidden = new Proxy(new Error('hidden'), {
      getOwnPropertyDescriptor () { calls++; return undefined },
      getPrototypeOf () { calls++; return null },
      get () { calls++ }
    })
    // V8 itself reads the message of an error when it is thrown.
    for (const error of [new Hostile(), hidden, new Error('Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fw')]) {
      try { throw error } catch {}
    }
    const before = calls
    return before
  }))
  const profile = await profileOf(t, app, '/hostile')
  t.match(caughtIn(profile), { count: 3, lines: [{ errors: [{}, {}, {}] }] })
  t.notMatch(JSON.stringify(caughtIn(profile)), /correct horse|SflKxwRJSMeKKF2QT4fw/)
  const first = calls
  await app.inject(`/_profiler/${profile.token}`)
  t.equal(calls, first)
})

inBothProducts('a caught DOMException has its name and message', async (t, build) => {
  let calls = 0
  // V8 may read it where the error is thrown.
  class Hostile extends DOMException {
    override get message (): string { return 'of a getter' }
  }
  class Named extends DOMException {
    override name = 'QuotaTimeout'
  }
  // Without the data of a DOMException, its accessors throw.
  const imitation = Object.create(DOMException.prototype) as object
  const trapped = Object.create(new Proxy({}, { getPrototypeOf () { return { calls: calls++ } } })) as object
  const app = await build((app) => {
    app.get('/aborted', async () => {
      for (const reason of [undefined, new Hostile('it is late', 'TimeoutError'), new Named('too much')]) {
        try { AbortSignal.abort(reason).throwIfAborted() } catch {}
      }
      return {}
    })
    app.get('/imitated', async () => {
      for (const reason of [imitation, trapped]) try { throw reason } catch {}
      return {}
    })
  })
  t.match(caughtIn(await profileOf(t, app, '/aborted')), {
    count: 3,
    lines: [{
      errors: [
        { name: 'AbortError', message: 'This operation was aborted' },
        { name: 'TimeoutError', message: 'it is late' },
        { name: 'QuotaTimeout', message: 'too much' }
      ]
    }]
  })
  t.match(caughtIn(await profileOf(t, app, '/imitated')), { count: 2, lines: [{ errors: [{ name: 'Thrown object' }, { name: 'Thrown object' }] }] })
  t.equal(calls, 0)
})

inBothProducts('a sentence says where too many errors were thrown', async (t, build) => {
  const app = await build((app) => app.get('/many', async () => {
    let count = 0
    for (let i = 0; i < 120; i++) try { throw new Error(String(i)) } catch { count++ }
    return count
  }))
  const profile = await profileOf(t, app, '/many')
  t.match(caughtIn(profile), { count: 100, note: /^Further errors may have been caught/ })
  t.match((await app.inject(`/_profiler/${profile.token}.md`)).body, 'Further errors may have been caught')
})

inBothProducts('over the network, and with values: false there are none', async (t, build) => {
  for (const values of [true, false]) {
    const app = await build((app) => app.get('/', async () => {
      try { throw new Error('planted') } catch { return [] }
    }), { values })
    const address = await app.listen({ port: 0 })
    t.equal(await hasInspection(), true)
    const response = await fetch(address)
    const profile = await (await fetch(`${address}/_profiler/${response.headers.get('x-debug-token')}.json`)).json() as Profile
    t.equal(caughtIn(profile)?.count, values ? 1 : undefined)
  }
})

inBothProducts('the pauses for caught errors are work of Hindsight, and no block of the event loop', async (t, build) => {
  const texts = ['a', '{', 'x', 'y', 'z', 'q', 'w', '[', '}', 'b', 'c', 'd']
  const app = await build((app) => {
    app.get('/probing', async () => texts.filter((text) => { try { return JSON.parse(text) } catch { return false } }))
  })
  const profile = await profileOf(t, app, '/probing')
  t.match(caughtIn(profile), { count: texts.length })
  const { budget } = profile.collectors.performance as { budget: { blocks: unknown[], hindsight: number, javascript: number } }
  t.same(budget.blocks, [])
  t.ok(budget.hindsight > budget.javascript, JSON.stringify(budget))
})
