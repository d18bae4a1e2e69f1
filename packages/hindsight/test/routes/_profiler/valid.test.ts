import { parts } from '../../../src/parts/index.js'
import { panelsOf } from '../../../src/parts/read.js'
import { failure, profile, tokens } from '../../parts/fixture.js'
import { HOSTILE } from '../../parts/hostile.js'
import { sample } from '../../parts/sample.js'
import { inBothProducts } from '../../support/products.js'
import { htmlChecker } from '../../support/html-checker.js'

const findings = htmlChecker({
  // Lists and regions with a name of their own are allowed, and said by screen readers.
  'aria-label-misuse': 'off',
  'prefer-native-element': 'off',
  // Boxes that are ticked for the same question share its name.
  'form-dup-name': 'off'
})

inBothProducts('the pages of the profiler, and a page with the toolbar, are valid HTML', async (t, build) => {
  const page = '<!DOCTYPE html><html lang="en"><head><title>A page</title></head><body><h1>A page</h1></body></html>'
  const app = await build((app) => app.get('/page', async (_request, reply) => reply.type('text/html').send(page)))
  t.teardown(() => app.close())
  app.hindsight.profiler.save({ ...sample(HOSTILE), token: '00000f' })
  app.hindsight.profiler.save(sample())
  for (const token of tokens(1, 60)) app.hindsight.profiler.save(token > '000030' ? failure(token, { parent: '3fa94c' }) : profile(token))
  await app.hindsight.profiler.pin('000001', true)
  const urls = [
    '/_profiler/', '/_profiler/?limit=20', '/_profiler/search?status=404&url=%3Cb%3E', '/_profiler/search?status=zz', '/_profiler/search?url=nowhere',
    '/_profiler/000001', '/_profiler/000060',
    ...['3fa94c', '00000f'].flatMap((token) => panelsOf(parts, sample()).map(({ name }) => `/_profiler/${token}?panel=${name}`)),
    '/page', '/_wdt/3fa94c'
  ]
  t.ok(urls.length > 20)
  for (const url of urls) {
    const { body } = await app.inject({ url, headers: { accept: 'text/html', 'sec-fetch-dest': 'document' } })
    t.same(await findings(body), [], url)
  }
})
