import type { FastifyInstance } from 'fastify'
import type { NestFastifyApplication } from '@nestjs/platform-fastify'
import t from 'tap'
import ts from 'typescript'
import { profileOf } from '../../../packages/hindsight/test/support/app.js'
import { testdir } from '../../../packages/hindsight/test/support/folder.js'
import { ROOT, runSnippet, snippetsOf } from '../../../packages/hindsight/test/support/snippets.js'

t.test('nestjs.md', async (t) => {
  process.env.PORT = '0'
  t.teardown(() => { delete process.env.PORT })
  const snippet = snippetsOf('docs/how-to/nestjs.md').find(({ mark }) => mark === 'run: nest')
  if (snippet === undefined) throw new Error('nestjs.md has no piece marked "run: nest"')
  const folder = testdir(t)
  process.chdir(folder)
  t.teardown(() => process.chdir(ROOT))
  const { code, ...rest } = snippet
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
