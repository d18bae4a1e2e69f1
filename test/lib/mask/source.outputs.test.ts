import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { hindsight } from '../../../app/hindsight.js'
import { build, inMemory, profileOf } from '../../support/app.js'

function declare (app: FastifyInstance): void {
  app.get('/', async () => {
    const apiKey: string = process.env.HINDSIGHT_NO_KEY ?? 'S1cretValue'
    throw new Error(`failed with ${apiKey.length} characters`)
  })
}

t.test('the page, JSON, Markdown and the profile have masked source, in both modes', async t => {
  const observed = Fastify()
  await observed.register(hindsight, { debug: true, profiler: inMemory() })
  declare(observed)
  t.teardown(async () => await observed.close())
  for (const [mode, app] of [['full', await build(t, { declare })], ['observe', observed]] as const) {
    for (const accept of ['text/html', 'application/json', 'text/markdown', 'text/plain']) {
      const { body } = await app.inject({ url: '/', headers: { accept } })
      t.notMatch(body, 'S1cretValue', `${mode}: ${accept}`)
      if (mode === 'full' || accept === 'text/html') t.match(body.replace(/<[^>]+>/g, ''), 'HINDSIGHT_NO_KEY', accept)
    }
    const profile = JSON.stringify(await profileOf(app, await app.inject('/')))
    t.match(profile, "HINDSIGHT_NO_KEY ?? '******'", `${mode}: the profile`)
    t.notMatch(profile, 'S1cretValue')
  }
})
