import { once } from 'node:events'
import { rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { ProfileSummary } from '../../src/store/profile.js'
import { profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'
import { parseHtml } from '../support/parse-html.js'
import { withoutMarks } from '../support/marks.js'

inBothProducts('a followed redirect is the parent of the next request, without a marker in the URL', async (t, build) => {
  const app = await build(app => {
    app.get('/from', (_request, reply) => reply.redirect('/to?a=1#there'))
    app.get('/to', () => 'x')
  })
  const headers = { 'user-agent': 'a browser' }
  const redirect = await app.inject({ url: '/from', headers })
  t.equal(redirect.headers.location, '/to?a=1#there')
  t.notOk('set-cookie' in redirect.headers)
  const { token } = await profileOf(app, redirect)
  const other = await profileOf(app, await app.inject({ url: '/to?a=1', headers: { 'user-agent': 'another' } }))
  const followed = await profileOf(app, await app.inject({ url: '/to?a=1', headers }))
  const again = await profileOf(app, await app.inject({ url: '/to?a=1', headers }))
  t.same([other.parent, followed.parent, again.parent], [undefined, token, undefined])
  const pageOf = async (token: string) => (await app.inject({ url: `/_profiler/${token}`, headers: { accept: 'text/html' } })).body
  t.match(await pageOf(followed.token), `<h3>Redirected from</h3><ul class="relatives"><li><a href="/_profiler/${token}">${token}</a>`)
  app.hindsight.profiler.save({ ...followed, token: '00000a', parent: '"><script>' })
  t.notMatch(await pageOf('00000a'), /"><script>/)
})

inBothProducts('the target of a redirect is called so, and an injected request a sub-request', async (t, build) => {
  const app = await build(app => {
    app.get('/from', async (_request, reply) => {
      await app.inject('/injected')
      return reply.redirect('/to')
    })
    app.get('/*', () => 'x')
  })
  const { token } = await profileOf(app, await app.inject('/from'))
  const target = await profileOf(app, await app.inject('/to'))
  t.equal(target.followOf, token)
  const documentOf = async (path: string) => parseHtml((await app.inject({ url: `/_profiler/${path}`, headers: { accept: 'text/html' } })).body)
  const related = async (token: string) => [...(await documentOf(token)).querySelectorAll('.relatives')]
    .map((list) => [list.previousElementSibling?.textContent, [...list.querySelectorAll('.url')].map(({ textContent }) => textContent)])
  t.same(await related(token), [['Redirected to', ['http://localhost/to']], ['Sub-requests', ['http://localhost/injected']]])
  t.same(await related(target.token), [['Redirected from', ['http://localhost/from']]])
  const rows = [...(await documentOf('')).querySelectorAll('.profiles tbody td.text')]
    .map(({ textContent, nextElementSibling: message }) => `${textContent}${message?.textContent ?? ''}`)
  // A loaded machine may block the event loop meanwhile, which the row says, too.
  const expected = ['/from', `/toredirected from ${token}`, `/injectedsub-request of ${token}`]
  t.same(rows.map((text) => text.replace(/Timeline: blocked for .*?CPU time/, '')), expected)
  const injected = await app.hindsight.profiler.latest({ url: '/injected' })
  t.notOk('followOf' in (injected?.values ?? {}))
  const markdown = async (token = '') => withoutMarks((await app.inject(`/_profiler/${token}.md`)).body)
  t.match(await markdown(target.token), ` · redirected from \`${token}\``)
  t.match(await markdown(injected?.token), ` · parent profile \`${token}\``)
})

inBothProducts('a request that redirects to itself is not its own parent, and that of the next', async (t, build) => {
  const app = await build(app => { app.get('/loop', (_request, reply) => reply.redirect('/loop')) })
  const first = await profileOf(app, await app.inject('/loop'))
  const second = await profileOf(app, await app.inject('/loop'))
  t.same([first.parent, second.parent, second.followOf], [undefined, first.token, first.token])
})

inBothProducts('a redirect is followed once, by the same client, to the same URL, within 30 seconds', async (t, build) => {
  const app = await build(app => {
    app.get('/a/from', (request, reply) => reply.redirect((request.query as { to: string }).to))
    app.get('/*', () => 'x')
  })
  const now = Date.now
  t.teardown(() => { Date.now = now })
  const headers = { 'user-agent': 'a browser' }
  const long = `/${'x'.repeat(3_000)}`
  for (const [name, to, url, changes, later, isFollowed] of [
    ['a path', '/to', '/to', {}, 0, true],
    ['relative', 'to?a=b', '/a/to?a=b', {}, 0, true],
    ['absolute, with a fragment', 'http://localhost/to#there', '/to', {}, 29_000, true],
    ['too late', '/to', '/to', {}, 30_000, false],
    ['another place', '/to', '/other', {}, 0, false],
    ['another query', '/to', '/to?a=1', {}, 0, false],
    ['another client', '/to', '/to', { remoteAddress: '127.0.0.2' }, 0, false],
    ['another browser', '/to', '/to', { headers: { 'user-agent': 'b' } }, 0, false],
    ['a very long URL', long, long, {}, 0, false]
  ] as const) {
    const time = now()
    Date.now = () => time
    const redirect = await profileOf(app, await app.inject({ url: `/a/from?${new URLSearchParams({ to })}`, headers }))
    Date.now = () => time + later
    const follower = { url, headers, ...changes }
    const followed = await profileOf(app, await app.inject(follower))
    const again = await profileOf(app, await app.inject(follower))
    Date.now = now
    t.same([followed.parent, again.parent], [isFollowed ? redirect.token : undefined, undefined], name)
    await app.inject({ url: to, headers })
  }
})

inBothProducts('a redirect over a Unix socket is followed by no request', async (t, build) => {
  const app = await build(app => {
    app.get('/from', (_request, reply) => reply.redirect('/to'))
    app.get('/to', () => 'x')
  })
  const socketPath = join(tmpdir(), `hindsight-redirects-${process.pid}.sock`)
  t.teardown(() => rmSync(socketPath, { force: true }))
  await app.listen({ path: socketPath })
  for (const path of ['/from', '/to']) {
    const [response] = await once(http.get({ socketPath, path, agent: false }), 'response') as [http.IncomingMessage]
    await once(response.resume(), 'end')
  }
  // The last one is stored after its response.
  let target: ProfileSummary | undefined
  while (target === undefined) {
    await setImmediate()
    target = await app.hindsight.profiler.latest({ url: '/to' })
  }
  t.equal(target.parent, null)
})

inBothProducts('the number of redirects that are kept is bounded', async (t, build) => {
  const app = await build(app => {
    app.get('/from/:to', (request, reply) => reply.redirect(`/to/${(request.params as { to: string }).to}`))
    app.get('/to/*', () => 'x')
  })
  for (let i = 0; i < 1_001; i++) await app.inject(`/from/${i}`)
  t.equal((await profileOf(app, await app.inject('/to/0'))).parent, undefined)
  t.not((await profileOf(app, await app.inject('/to/1'))).parent, undefined)
})
