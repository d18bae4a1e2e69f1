import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import mercurius from 'mercurius'
import t, { type Test } from 'tap'
import { testdir } from '../../support/folder.js'
import { profileOf } from '../../support/app.js'
import { runSnippet, snippetsOf } from '../../support/snippets.js'

const PAGE = 'docs/how-to/mercurius.md'

interface WithQueries {
  graphql: (text: string) => Promise<{ data: unknown, errors: unknown[] }>
}

/** The application of the documentation; its store is in the folder of the test. */
async function documented (t: Test): Promise<FastifyInstance> {
  const snippet = snippetsOf(PAGE).find(({ mark }) => mark === 'run: mercurius')
  if (snippet === undefined) throw new Error(`${PAGE} has no piece for mercurius`)
  const folder = testdir(t)
  const before = process.cwd()
  process.chdir(folder)
  const { app } = await runSnippet(snippet, folder) as { app: FastifyInstance }
  process.chdir(before)
  t.teardown(() => app.close())
  return app
}

function query (text: string): { method: 'POST', url: string, payload: object } {
  return { method: 'POST', url: '/graphql', payload: { query: text } }
}

t.test('the profile of a 200 has the errors of its resolvers, with their lines of code, and its log', async (t) => {
  const app = await documented(t)
  const response = await app.inject(query('{ price(article: "7") name }'))
  t.equal(response.statusCode, 200)
  const profile = await profileOf(app, response)
  t.same(profile.exceptions.map(({ message }) => message), ['No connection to the database', 'The price is unknown'])
  const [frame] = profile.exceptions.at(-1)?.frames ?? []
  t.match(frame, { own: true, file: /snippet-\d+\.js$/ })
  t.match(frame?.excerpt?.lines.join('\n'), "throw new Error('The price is unknown'")
  t.ok(profile.logs.some(({ message }) => message === 'Looking up the price of 7'))
  t.equal(profile.collectors.otherErrors, undefined)
  const found = await app.inject('/_profiler/search.json?error=1&status=200&exception=price')
  t.match(found.json(), { profiles: [{ token: profile.token, error: true }] })
})

t.test('all errors of a query are found, and the answer is as without Hindsight', async (t) => {
  const app = await documented(t)
  const text = '{ first: price(article: "1") second: price(article: "2") name }'
  const response = await app.inject(query(text))
  const bare = Fastify()
  t.teardown(() => bare.close())
  await bare.register(mercurius, {
    schema: 'type Query { price(article: ID!): Int, name: String }',
    resolvers: { Query: { price: async () => { throw new Error('The price is unknown') }, name: () => 'shop' } }
  })
  t.equal(response.body, (await bare.inject(query(text))).body)
  const { exceptions, collectors } = await profileOf(app, response)
  t.equal(exceptions.at(-1)?.message, 'The price is unknown')
  t.match(collectors.otherErrors, [[{}, { message: 'The price is unknown' }]])
})

t.test('queries that succeed have no exceptions, those that are not valid fail as errors of Fastify', async (t) => {
  const app = await documented(t)
  const found = await app.inject(query('{ name }'))
  t.same(found.json(), { data: { name: 'shop' } })
  t.same((await profileOf(app, found)).exceptions, [])
  const wrong = await app.inject(query('{ nothing }'))
  t.equal(wrong.statusCode, 400)
  t.match((await profileOf(app, wrong)).exceptions.at(-1), { code: 'MER_ERR_GQL_VALIDATION' })
})

t.test('queries over a socket and other requests are recorded', async (t) => {
  const app = await documented(t)
  const { port } = app.server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}/graphql?query={price(article:"9")}`)
  t.equal(response.status, 200)
  const { exceptions } = await profileOf(app, { headers: Object.fromEntries(response.headers) })
  t.match(exceptions, [{}, { message: 'The price is unknown' }])
  const { data, errors } = await (app as unknown as WithQueries).graphql('{ price(article: "1") }')
  t.same(data, { price: null })
  t.equal(errors.length, 1, 'a query that no request has sent')
})
