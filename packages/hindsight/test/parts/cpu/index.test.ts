import { resolve } from 'node:path'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { cpu as cpuPanel } from '../../../src/parts/cpu/index.js'
import { readCpuRecord } from '../../../src/parts/cpu/record.js'
import { profile } from '../fixture.js'
import { HOSTILE } from '../hostile.js'
import { sample } from '../sample.js'
import { markup, shown, texts } from '../support.js'

const record = sample().collectors.cpu as { functions: object[] }
const links = (root: ParentNode, selector: string) => [...root.querySelectorAll(selector)].map((link) => link.getAttribute('href'))

t.test('the bars of the flame graph are as wide as their time', async (t) => {
  const root = shown(cpuPanel, sample())
  const whole = shown(cpuPanel, sample(), { levels: 'all' })
  t.same(texts(whole, '.flame title'), [
    '(root): 6 ms (100 %)',
    'run, node:async_hooks:332: 6 ms (100 %)',
    'next, node_modules/fastify/lib/hooks.js:234: 6 ms (100 %)',
    'plain, plain:3: 5.5 ms (92 %)',
    'plain, plain:3: 1 ms (17 %)'
  ])
  t.same([...whole.querySelectorAll('.frame')].map((bar) => ['class', 'x', 'y', 'width'].map((name) => bar.getAttribute(name))), [
    ['frame code-engine', '0.00%', '0', '100.00%'], ['frame code-node', '0.00%', '20', '100.00%'],
    ['frame code-dependency', '0.00%', '40', '100.00%'], ['frame code-own', '0.00%', '60', '91.67%'],
    ['frame code-own', '0.00%', '80', '16.67%']
  ])
  t.same(texts(root, '.flame title').map((title) => title.split(':')[0]), ['(root)', 'run, node', 'plain, plain', 'plain, plain'], 'of other code one level')
  t.same(links(root, 'form a'), ['?panel=cpu&levels=all'])
  t.same(links(whole, 'form a'), ['?panel=cpu'])
  t.equal(root.querySelectorAll('[style]').length, 0)
  t.same(texts(whole, '.legend li'), ['your code', 'dependencies', 'Node.js', 'V8 or native code'])
})

t.test('the panel has a table, notes and a download', async (t) => {
  const root = shown(cpuPanel, sample())
  t.same(
    texts(root, '.heaviest tbody tr'), ['plain plain:3 5.5 ms 92 %5.5 msyour code', 'next node_modules/fastify/lib/hooks.js:234 500 µs 8.3 %6 msdependencies']
  )
  t.match(root.textContent, /6 ms busy and 4 ms idle in 10 ms/)
  for (const remark of [/other work included/, /40 samples, one each 250\sµs/]) t.match(root.textContent, remark)
  t.match(links(root, 'a[download]'), [/3fa94c\/cpu$/])
})

/** A recording of the functions, each of which calls the next one for a millisecond. */
const recordOf = (functions: Array<[name: string, file: string, kind: string, line?: number]>) => ({
  ...record,
  functions: functions.map(([name, file, kind, line = 3]) => ({ name, file, line, column: 1, kind })),
  calls: functions.map((_, i) => [i, i - 1, 1_000])
})

t.test('a call fills the width when it is chosen, and functions are found by name', async (t) => {
  const cpu = recordOf([
    ['(root)', '', 'engine'], ['run', 'node:async_hooks', 'node'], ['load', 'lib/load.js', 'own'], ['parse', 'node_modules/a/b.js', 'dependency'],
    ['inner', 'node_modules/a/c.js', 'dependency'], ['each', 'lib/each.js', 'own']
  ])
  const stored = profile('000001', { collectors: { cpu } })
  const root = shown(cpuPanel, stored)
  t.same(links(root, '.flame a'), ['?panel=cpu', '?panel=cpu&call=1', '?panel=cpu&call=2', '?panel=cpu&call=3', '?panel=cpu&call=5'])
  const zoomed = JSDOM.fragment(markup(cpuPanel, stored, { query: { call: '3', q: 'LIB/EACH' }, editor: (file, line) => `vscode://file${file}:${line}` }))
  t.same(texts(zoomed, '.flame text'), ['parse', 'each'], 'below the chosen call its calls')
  t.same(texts(zoomed, '.flame .found text'), ['each'])
  t.same(links(zoomed, 'p a').slice(0, 3), ['?panel=cpu&q=LIB%2FEACH', '?panel=cpu&call=2&q=LIB%2FEACH', `vscode://file${resolve('node_modules/a/b.js')}:3`])
  t.ok(links(zoomed, '.heaviest a').includes(`vscode://file${resolve('lib/load.js')}:3`))
  for (const call of ['x', '-1', '99', '1e9']) t.equal(shown(cpuPanel, stored, { call }).querySelectorAll('.frame').length, 5, call)
})

t.test('the line that took longest is before the graph, and in the place of its function', async (t) => {
  const cpu = recordOf([['(root)', '', 'engine'], ['load', 'lib/load.js', 'own'], ['each', 'lib/each.js', 'own']])
  Object.assign(cpu.functions[1] as object, { hot: [9, 600] })
  Object.assign(cpu.functions[2] as object, { hot: [5, 1_500] })
  const stored = profile('000001', { collectors: { cpu } })
  t.match(texts(shown(cpuPanel, stored), '.lead')[0], /\. Hottest line of your code: lib\/each\.js:5 in each, 1\.5 ms \(50 %\)\.$/)
  t.same(texts(shown(cpuPanel, stored), '.heaviest .file').filter(Boolean), ['lib/load.js:9', 'lib/each.js:5'])
  t.match(JSON.stringify(cpuPanel.markdown?.(undefined, stored, [])), 'most time in one line: lib/each.js:5, 1.5 ms')
})

t.test('the handler has the name of its route', async (t) => {
  const fastify = 'node_modules/fastify/lib/handle-request.js'
  const handlers = (first: string) => [
    ['(root)', '', 'engine'], ['preHandlerCallbackInner', fastify, 'dependency'], [first, 'routes/a.js', 'own', 9], ['(anonymous)', 'routes/a.js', 'own', 4]
  ] as Array<[string, string, string, number?]>
  const route = { name: 'GET /a', pattern: '/a', params: {}, methods: ['GET'], handler: resolve('routes/a.js:9') }
  const named = (first: string, changes = {}, functions = handlers(first)) =>
    texts(shown(cpuPanel, profile('000001', { route: { ...route, ...changes }, collectors: { cpu: recordOf(functions) } })), '.flame text')
  t.same(named('(anonymous)'), ['(root)', 'preHandlerCallbackInner', 'handler GET /a', 'routes/a.js:4'])
  t.same(named('list'), ['(root)', 'preHandlerCallbackInner', 'handler GET /a, list', 'routes/a.js:4'])
  t.same(named('list', { handler: resolve('routes/a.js:8') })[2], 'handler GET /a, list', 'the only function that Fastify has called')
  const two = [...handlers('list'), ['preHandlerCallbackInner', fastify, 'dependency'], ['other', 'routes/b.js', 'own']] as ReturnType<typeof handlers>
  t.same(named('list', { handler: resolve('routes/a.js:8') }, two).filter((name) => name.startsWith('handler')), [], 'not certain')
})

t.test('hostile names, refusals, failures and invalid data are shown safely', async (t) => {
  const hostile = shown(cpuPanel, sample(HOSTILE))
  t.equal(hostile.querySelectorAll('script, img, b, style').length, 0)
  t.match(hostile.querySelector('.heaviest tbody th')?.textContent, /<script>alert\(1\)<\/script>/)
  const said = (cpu: unknown) => shown(cpuPanel, profile('000001', { collectors: { cpu } })).textContent
  t.equal(said({ refused: 'because <b>' }), 'because <b>')
  t.match(said({ error: 'it broke' }), /The collector failed: it broke/)
  for (const data of [null, 1, 'x', {}, { ...record, calls: {} }]) t.match(said(data), /The panel failed: the recording cannot be read/)
  const idle = { ...record, calls: [[0, -1, 0], [4, 0, 1000]] }
  t.match(said(idle), /was idle/)
})

t.test('very deep and very wide recordings are bounded', async (t) => {
  const size = 5_000
  const functions = [...record.functions, { name: 'f', file: '', line: 0, column: 0, kind: 'own' }]
  for (const parent of [(i: number) => i - 1, () => 0, (i: number) => Math.floor((i - 1) / 2)]) {
    const calls = Array.from({ length: size }, (_, i) => i === 0 ? [0, -1, 1] : [5, parent(i), 1])
    const root = shown(cpuPanel, profile('000001', { collectors: { cpu: { ...record, functions, calls } } }))
    t.ok(root.querySelectorAll('.frame').length <= 1_000)
    t.ok(Number(root.querySelector('.flame')?.getAttribute('height')) <= 2_100)
  }
})

t.test('a stored recording is shown only if it is valid', async (t) => {
  const good = sample().collectors.cpu as Record<string, unknown>
  t.not(readCpuRecord(good), null)
  const calls = good.calls as number[][]
  const changed = (i: number, call: unknown) => ({ ...good, calls: calls.toSpliced(i, 1, call as number[]) })
  for (const [name, data] of Object.entries({
    nothing: undefined,
    text: 'x',
    'no functions': { ...good, functions: undefined },
    'a call of another form': changed(1, { called: 3 }),
    'a caller after its call': changed(1, [3, 2, 0]),
    'no calls': { ...good, calls: [] },
    'an unknown function': changed(1, [9, 0, 0])
  })) t.equal(readCpuRecord(data), null, name)
})
