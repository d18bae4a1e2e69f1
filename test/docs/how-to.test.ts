import type { FastifyInstance } from 'fastify'
import type { NestFastifyApplication } from '@nestjs/platform-fastify'
import t from 'tap'
import ts from 'typescript'
import { testdir } from '../support/folder.js'
import { profileOf } from '../support/app.js'
import { ROOT, runSnippet, snippetsOf, type Snippet } from '../support/snippets.js'

const folder = testdir(t)
process.chdir(folder)
t.teardown(() => process.chdir(ROOT))

function marked (page: string, wanted: string): Snippet {
  const found = snippetsOf(`docs/how-to/${page}.md`).find(({ mark }) => mark === wanted)
  if (found === undefined) throw new Error(`${page} has no piece marked "${wanted}"`)
  return found
}

t.test('profile-one-request.md', async (t) => {
  process.env.PROFILE_KEY = 'correct-horse'
  process.env.NODE_ENV = 'production'
  t.teardown(() => {
    delete process.env.PROFILE_KEY
    delete process.env.NODE_ENV
  })
  const { app } = await runSnippet(marked('profile-one-request', 'run: one request'), folder) as { app: FastifyInstance }
  t.teardown(() => app.close())
  const responses = [{}, { 'x-profile-key': 'wrong' }, { 'x-profile-key': 'correct-horse' }].map((headers) => app.inject({ url: '/', headers }))
  for (const { headers, body } of await Promise.all(responses)) t.same([headers['x-debug-token'], body], [undefined, '{"hello":"world"}'])
  await app.hindsight.profiler.flush()
  const { profiles } = await app.hindsight.profiler.search({ limit: 10 })
  t.equal(profiles.length, 1)
  const profile = await app.hindsight.profiler.find(String(profiles[0]?.token))
  t.equal(profile?.status, 200)
  t.notMatch(JSON.stringify(profile), /correct-horse/)
})

t.test('nestjs.md', async (t) => {
  process.env.PORT = '0'
  t.teardown(() => { delete process.env.PORT })
  const { code, ...rest } = marked('nestjs', 'run: nest')
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, experimentalDecorators: true }
  const { outputText } = ts.transpileModule(code, { compilerOptions })
  const { app } = await runSnippet({ ...rest, language: 'js', code: outputText }, folder) as { app: NestFastifyApplication }
  t.teardown(() => app.close())
  const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance
  const missed = await fastify.inject({ url: '/nowhere', headers: { accept: 'text/html' } })
  t.equal(missed.statusCode, 404)
  t.match(missed.body, /^<!DOCTYPE html>/)
  t.match((await profileOf(fastify, missed)).exceptions.at(-1)?.message, 'No route found for "GET http://localhost/nowhere"')
})

t.test('opentelemetry.md: profiles as spans', async (t) => {
  const { app } = await runSnippet(marked('opentelemetry', 'run: spans'), folder) as { app: FastifyInstance }
  t.teardown(() => app.close())
  t.equal((await app.inject('/_profiler/')).statusCode, 200)
})
