import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { redisServer } from '../support/redis.js'
import { pageProblems, runSnippet, snippetsOf, type Snippet } from '../support/snippets.js'

const PAGE = 'docs/recipes.md'
const marked = (wanted: string): Snippet => {
  const found = snippetsOf(PAGE).find(({ mark }) => mark === wanted)
  if (found === undefined) throw new Error(`${PAGE} has no piece marked "${wanted}"`)
  return found
}

t.test('all that is there is of a form that can be used', async (t) => {
  t.same(pageProblems(PAGE), [])
})

t.test('behind a proxy', async (t) => {
  const { app } = await runSnippet(marked('run'), t.testdir()) as { app: FastifyInstance }
  await app.close()
  t.pass('what it asserts holds')
})

t.test('several machines', async (t) => {
  const redis = await redisServer(t)
  if (redis === null) return
  const before = process.env.STORAGE_URL
  process.env.STORAGE_URL = redis.url
  t.teardown(() => {
    if (before === undefined) delete process.env.STORAGE_URL
    else process.env.STORAGE_URL = before
  })
  await runSnippet(marked('run with Redis'), t.testdir())
  t.pass('what it asserts holds')
})
