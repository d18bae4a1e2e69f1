import { channel } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { watchChannels } from '../../src/parts/collect.js'
import { parts } from '../../src/parts/index.js'
import type { Collector } from '../../src/parts/part.js'
import { newest, refusal } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

t.test('a collector without a valid and unique name stops the start', async t => {
  const collect = (): number => 1
  for (const [collectors, message] of [
    [[{ collect }], 'Option "profiler.collectors[0].name" is missing'],
    [[{ name: '../x', collect }], 'Option "profiler.collectors[0].name" must be a letter, then letters, digits, "-" and "_", 64 at most, not another string'],
    [[{ name: 'a', collect }, { name: 'a', collect }], 'profiler.collectors[1].name: "a" is used twice'],
    [[{ name: 'request', collect }], 'profiler.collectors[0].name: "request" is the name of a collector of Hindsight'],
    [[{ name: 'a' }], 'Option "profiler.collectors[0].collect" is missing'],
    [[{ name: 'a', collect: 1 }], 'Option "profiler.collectors[0].collect" must be a function, not a number'],
    [[{ name: 'a', collect, panel: { rendr: 'A' } }], 'Unknown option "profiler.collectors[0].panel.rendr"; did you mean "render"?']
  ] as const) t.equal(await refusal({ profiler: { collectors } }), message)
})

inBothProducts('the name of a built-in collector or panel is refused', async (t, build) => {
  const app = await build(app => app.get('/', { config: { pagination: true, cache: { etag: () => 'x' } } }, () => 'x'))
  await app.inject('/')
  const profile = await newest(app)
  for (const name of new Set([...Object.keys(profile.collectors), ...parts.map(({ name }) => name)])) {
    t.match(await refusal({ profiler: { collectors: [{ name, collect: () => 1 }] } }), /is the name of a collector of Hindsight$/, name)
  }
})

inBothProducts('collected data is plain, masked and otherwise unchanged', async (t, build) => {
  const kept = { list: [1], password: 's3cret', big: 1n, when: new Date(0), self: null as unknown }
  kept.self = kept
  const collectors: Collector[] = [
    { name: 'now', collect: request => ({ url: request.url, token: 's3cret', text: 'redis://:s3cret@h' }) },
    { name: 'later', collect: () => kept },
    { name: 'nothing', collect: () => undefined }
  ]
  const app = await build(app => app.get('/', () => 'x'), { profiler: { collectors } })
  await app.inject('/?a=1')
  kept.list.push(2)
  const { collectors: data } = await newest(app)
  t.same(data.now, { url: '/?a=1', token: '******', text: 'redis://:******@h' })
  t.match(data.later, { list: [1], password: '******', big: '1', when: '1970-01-01T00:00:00.000Z' })
  t.same((data.later as typeof kept).list, [1])
  t.equal(data.nothing, null)
  t.notMatch(JSON.stringify(data), /s3cret/)
})

inBothProducts('a failing collector affects only its own panel', async (t, build) => {
  const collectors: Collector[] = [
    { name: 'throws', collect: () => { throw new Error('no') }, panel: { count: () => 1 } },
    { name: 'text', collect: () => { throw 'text' } }, // eslint-disable-line no-throw-literal
    { name: 'promise', collect: async () => { throw new Error('no') } },
    { name: 'hostile', collect: () => { throw { toString () { throw new Error('no') } } as unknown } }, // eslint-disable-line no-throw-literal
    {
      name: 'render',
      collect: () => ({}),
      panel: { render: () => { throw new Error('no markup') }, problem: () => { throw new Error('no') }, count: () => { throw new Error('no') } }
    },
    { name: 'fine', collect: () => [1, 2], panel: { label: 'Fine', count: data => (data as unknown[]).length } }
  ]
  const app = await build(app => app.get('/', () => 'x'), { profiler: { collectors } })
  t.equal((await app.inject('/')).body, 'x')
  const profile = await newest(app)
  t.match(profile.collectors, {
    throws: { error: 'no' },
    text: { error: 'text' },
    promise: { error: 'it returned a promise' },
    hostile: { error: '{ toString: [Function: toString] }' },
    fine: [1, 2]
  })
  const page = async (panel: string) => (await app.inject({ url: `/_profiler/${profile.token}?panel=${panel}`, headers: { accept: 'text/html' } })).body
  t.match(await page('throws'), /The collector failed:<\/strong> no/)
  t.match(await page('render'), /The panel failed:<\/strong> no markup/)
  t.match(await page('fine'), /<span>Fine<\/span><span class="badges"> <span class="count">2</)
  t.equal((await app.inject({ url: `/_profiler/${profile.token}`, headers: { accept: 'text/html' } })).statusCode, 200)
})

t.test('a library that is loaded between two applications reaches the second one', async (t) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const received: unknown[] = []
  const start = watchChannels([['hindsight-test', (message) => { received.push(message) }]])
  start()()
  await sleep(5)
  collectGarbage()
  // Node.js 20 would remove this channel after the one before was collected.
  const library = channel('hindsight-test')
  await sleep(20)
  const end = start()
  library.publish('sent')
  end()
  library.publish('sent later')
  t.same(received, ['sent'])
})
