import type { FastifyInstance } from 'fastify'
import { failure, profile } from '../../parts/fixture.js'
import { HOSTILE } from '../../parts/hostile.js'
import { sample } from '../../parts/sample.js'
import { htmlChecker } from '../../support/html-checker.js'
import { inBothProducts, type Build } from '../../support/products.js'
import { parseHtml } from '../../support/parse-html.js'

const html = { accept: 'text/html', 'sec-fetch-dest': 'document' }
const json = { accept: 'application/json' }
const route = { name: 'robots', pattern: '/robots.txt', params: {}, methods: ['GET'] }

async function start (build: Build): Promise<FastifyInstance> {
  const app = await build()
  app.hindsight.profiler.save(profile('00000c', { time: '2026-01-01T00:00:00.000Z', route }))
  app.hindsight.profiler.save(failure('00000a', { time: '2026-01-02T00:00:00.000Z', route }))
  app.hindsight.profiler.save(failure('00000b', { time: '2026-01-03T00:00:00.000Z', route }))
  app.hindsight.profiler.save({ ...sample(HOSTILE), token: '00000d' })
  return app
}

inBothProducts('a comparison is HTML or JSON, by Accept or the path', async (t, build) => {
  const app = await start(build)
  const { body, headers, statusCode } = await app.inject({ url: '/_profiler/00000c/compare/00000b', headers: html })
  t.equal(statusCode, 200)
  t.match(headers['content-security-policy'], /default-src 'none'/)
  const document = parseHtml(body)
  t.match(document.querySelector('.lead')?.textContent, /^A took [\d.]+\s[mµ]s, B [\d.]+\s[mµ]s: 3 differences, \d+ values are equal\.$/)
  t.equal(document.querySelectorAll('main h2').length, 0)
  t.same([...document.querySelectorAll('[aria-label=Differences] tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent)).slice(0, 1),
    [['status Status and route', '200', '404']])
  for (const [url, accept] of [['/_profiler/00000c/compare/00000b', json], ['/_profiler/00000c/compare/00000b.json', html]] as const) {
    t.match((await app.inject({ url, headers: accept })).json(), {
      a: { token: '00000c' },
      b: { token: '00000b' },
      differences: 3,
      sections: [{ name: 'outcome', differences: [{ what: 'status', kind: 'changed', a: 200, b: 404 }] }]
    }, url)
  }
})

inBothProducts('two selected profiles are compared', async (t, build) => {
  const app = await start(build)
  const list = parseHtml((await app.inject({ url: '/_profiler/', headers: html })).body)
  t.equal(list.querySelector('form#compare')?.getAttribute('action'), '/_profiler/compare')
  t.same(
    [...list.querySelectorAll('tbody input[name=profile][form=compare]')].map((box) => box.getAttribute('value')), ['00000d', '00000b', '00000a', '00000c']
  )
  const response = await app.inject({ url: '/_profiler/compare?profile=00000b&profile=00000c', headers: html })
  t.match([response.statusCode, response.headers.location], [302, '/_profiler/00000c/compare/00000b'])
})

inBothProducts('invalid comparisons are errors', async (t, build) => {
  const app = await start(build)
  for (const [url, status, message] of [
    ['compare', 400, 'Select two profiles to compare them, 0 were selected: /_profiler/compare?profile=3fa94c&profile=0b11e2.'],
    ['compare?profile=00000a', 400, 'Select two profiles to compare them, one was selected: /_profiler/compare?profile=3fa94c&profile=0b11e2.'],
    [
      'compare?profile=00000a&profile=00000b&profile=00000c', 400,
      'Select two profiles to compare them, 3 were selected: /_profiler/compare?profile=3fa94c&profile=0b11e2.'
    ],
    ['compare?profile=00000a&profile=ffffff', 404, 'Token "ffffff" was not found.'],
    ['00000a/compare/ffffff', 404, 'Token "ffffff" was not found.'],
    ['ffffff/compare/00000a.json', 404, 'Token "ffffff" was not found.'],
    ['__proto__/compare/00000a', 404, 'Token "__proto__" was not found.'],
    ['00000b/compare/previous', 404, 'Token "previous" was not found.']
  ] as const) {
    const response = await app.inject({ url: `/_profiler/${url}`, headers: json })
    t.equal(response.statusCode, status, url)
    t.match(response.json().detail, message, url)
  }
})

inBothProducts('text of requests is escaped', async (t, build) => {
  const app = await start(build)
  const findings = htmlChecker({ 'aria-label-misuse': 'off', 'prefer-native-element': 'off' })
  for (const url of ['/_profiler/00000c/compare/00000d', '/_profiler/00000d/compare/00000b', '/_profiler/00000d/compare/00000d']) {
    const { body } = await app.inject({ url, headers: html })
    const document = parseHtml(body)
    t.equal(document.querySelectorAll('main :is(script, img, b, iframe, [onerror], [style])').length, 0, url)
    t.same(await findings(body), [], url)
  }
})
