import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { profileOf } from '../../packages/hindsight/test/support/app.js'
import { testdir } from '../../packages/hindsight/test/support/folder.js'
import { runSnippet, snippetsOf } from '../../packages/hindsight/test/support/snippets.js'

const [example] = snippetsOf('docs/reference/recorder.md').filter(({ mark }) => mark === 'run: recorder')
if (example === undefined) throw new Error('recorder.md has no example')

t.test('the profiles of the example of recorder.md have the events of both stages', async (t) => {
  const { app } = await runSnippet(example, testdir(t)) as { app: FastifyInstance }
  t.teardown(() => app.close())
  const answer = await app.inject({ url: '/', headers: { host: 'blue.example.test' } })
  t.match([answer.statusCode, answer.json(), answer.headers['x-tenant']], [200, { hello: 'world' }, 'blue'])
  const { events } = await profileOf(app, answer)
  t.match(events, [
    { stage: 'shop.request', listener: 'tenant', outcome: 'ran', changes: { headers: [{ name: 'x-tenant', from: null, to: 'blue' }] } },
    { stage: 'shop.response', listener: 'profile', outcome: 'ran' }
  ])
  t.equal(events.length, 2)
  const page = await app.inject({ url: `/_profiler/${String(answer.headers['x-debug-token'])}`, headers: { accept: 'text/html' } })
  t.equal(page.statusCode, 200)
})

t.test('a failure of the example of recorder.md is in its profile', async (t) => {
  const { app } = await runSnippet(example, testdir(t)) as { app: FastifyInstance }
  t.teardown(() => app.close())
  const profile = await profileOf(app, await app.inject('/broken'))
  t.match(profile, { status: 500, exceptions: [{ message: 'no' }] })
})
