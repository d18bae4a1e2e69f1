import { MemoryStorage } from '../../../src/store/memory.js'
import { inBothProducts } from '../../support/products.js'

const PAGE = '<!doctype html><html lang="en"><head><title>a</title></head><body><p>a</p></body></html>'
const HTML = { accept: 'text/html' }

inBothProducts('while the store loses profiles, no response links to one, and the pages say since when and how many are lost', async (t, build, product) => {
  let isFailing = true
  const memory = new MemoryStorage()
  const failing = <A extends unknown[], T>(run: (...args: A) => T) => (...args: A): T => {
    if (isFailing) throw new Error('the disk is full')
    return run(...args)
  }
  const storage = {
    put: failing(memory.put.bind(memory)),
    get: failing(memory.get.bind(memory)),
    search: failing(memory.search.bind(memory)),
    pin: failing(memory.pin.bind(memory)),
    purge: failing(memory.purge.bind(memory)),
    stats: failing(memory.stats.bind(memory)),
    close: () => {}
  }
  const app = await build((app) => {
    app.get('/', async (_request, reply) => reply.type('text/html').send(PAGE))
    app.get('/fail', async () => { throw new Error('no') })
  }, { profiler: { storage } })
  const { profiler } = app.hindsight
  t.equal(profiler.queue.failingSince, null)
  t.match((await app.inject({ url: '/', headers: HTML })).headers['x-debug-token-link'], '/_profiler/', 'nothing was lost until now')
  await profiler.flush()
  const since = profiler.unavailableSince ?? 0
  t.ok(since > Date.now() - 60_000)
  for (const [url, accept] of [['/', HTML.accept], ['/fail', HTML.accept], ['/fail', 'application/json'], ['/missing', HTML.accept]] as const) {
    const { headers, body } = await app.inject({ url, headers: { accept } })
    t.match(headers, { 'x-debug-token': undefined, 'x-debug-token-link': undefined }, url)
    t.notMatch(body, /_profiler\/[0-9a-f]{6}|hindsight-toolbar/, `${url} for ${accept}`)
    await profiler.flush()
  }
  const page = await app.inject({ url: '/_profiler/search?q=a', headers: HTML })
  t.equal(page.statusCode, 503)
  const answer = (await app.inject('/_profiler/search.json')).json()
  if (product === 'service') {
    // The error handler of the service answers.
    t.match(page.body, 'The store of profiles failed: the disk is full')
    t.match(answer, { status: 503, exceptions: [{ message: 'the disk is full' }, { message: 'The store of profiles failed: the disk is full' }] })
  } else {
    const time = new Date(since).toISOString().replace('T', ' ').replace(/\..*/, ' UTC')
    t.match(page.body, `The store of profiles failed: the disk is full (since ${time}) <a href="/_profiler/search?q=a">Try again</a>`)
    t.match(page.body, '5 profiles of this process were lost: 5 because the store or their data failed. </p>', 'the reason is below')
    t.same([answer.counters.failed, answer.unavailableSince], [5, since])
  }

  isFailing = false
  await app.inject('/')
  await profiler.flush()
  t.same([profiler.queue.failingSince !== null, profiler.unavailableSince !== null], [false, true], 'it was not read yet')
  t.equal((await app.inject({ url: '/_profiler/search?q=a', headers: HTML })).statusCode, 200)
  t.equal(profiler.unavailableSince, null)
  const { headers, body } = await app.inject({ url: '/', headers: HTML })
  t.match(headers['x-debug-token-link'], '/_profiler/')
  t.match(body, 'hindsight-toolbar')
})

inBothProducts('a form that found the store unavailable leads to the list with the package', async (t, build, product) => {
  const memory = new MemoryStorage()
  const storage = Object.assign(memory, { pin: () => { throw new Error('read-only') } })
  const app = await build(() => {}, { profiler: { storage } })
  const payload = new URLSearchParams({ form_token: await app.hindsight.profiler.formToken(), pinned: '1' }).toString()
  const headers = { ...HTML, 'content-type': 'application/x-www-form-urlencoded' }
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/_profiler/abcdef/pin', headers, payload })
  t.equal(statusCode, 503)
  if (product === 'service') t.match(body, 'The store of profiles failed: read-only')
  else t.match(body, /read-only \(since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\) <a href="\/_profiler\/">Try again<\/a>/)
})
