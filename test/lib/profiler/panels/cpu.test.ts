import t from 'tap'
import { cpuPanel } from '../../../../lib/profiler/panels/cpu/panel.js'
import { performancePanel } from '../../../../lib/profiler/panels/performance/panel.js'
import { profile } from '../fixture.js'
import { HOSTILE } from '../hostile.js'
import { sample } from '../sample.js'
import { shown, texts } from './support.js'

const record = sample().collectors.cpu as { functions: object[] }
const links = (root: ParentNode, selector: string) => [...root.querySelectorAll(selector)].map((link) => link.getAttribute('href'))

t.test('the flame graph: bars in rows, as wide as their time', async (t) => {
  const root = shown(cpuPanel, sample())
  t.same(texts(root, '.flame title'), [
    '(root): 6 ms (100 %), 0 ms in itself',
    'run … next, 2 calls of Node.js, dependencies: 6 ms (100 %), 0.5 ms in itself',
    'plain, plain:3: 5.5 ms (92 %), 4.5 ms in itself',
    'plain, plain:3: 1 ms (17 %), 1 ms in itself'
  ])
  t.same([...root.querySelectorAll('.frame')].map((bar) => ['class', 'x', 'y', 'width'].map((name) => bar.getAttribute(name))), [
    ['frame code-engine', '0.000%', '0', '100.000%'], ['frame code-dependency', '0.000%', '20', '100.000%'],
    ['frame code-own', '0.000%', '40', '91.667%'], ['frame code-own', '0.000%', '60', '16.667%']
  ])
  t.same(links(root, '.flame a'), ['?panel=cpu#flame', '?panel=cpu&call=1#flame', '?panel=cpu&call=3#flame', '?panel=cpu&call=4#flame'])
  t.equal(root.querySelectorAll('.flame a:not([tabindex="-1"])').length, 0, 'the table is for the keyboard')
  t.equal(root.querySelectorAll('[style]').length, 0)
  t.same(texts(root, '.legend li'), ['your code', 'dependencies', 'Node.js', 'the engine'])
})

t.test('each call, one call and what it made, one function marked', async (t) => {
  t.equal(shown(cpuPanel, sample(), { each: '1' }).querySelectorAll('.frame').length, 5)
  const below = shown(cpuPanel, sample(), { call: '3' })
  t.same([...below.querySelectorAll('.frame')].map((bar) => [bar.getAttribute('class'), bar.getAttribute('width')]), [
    ['frame code-engine is-above', '100.000%'], ['frame code-dependency is-above', '100.000%'], ['frame code-own', '100.000%'], ['frame code-own', '18.182%']
  ])
  const marked = shown(cpuPanel, sample(), { function: '2' })
  t.equal(marked.querySelectorAll('.is-match').length, 1)
  t.match(marked.textContent, /Marked: next\./)
  for (const nonsense of [{ call: '99' }, { call: '-1' }, { call: 'x' }, { function: '9e9' }, { function: ['1', 'constructor'] }, { each: 'x' }]) {
    t.equal(shown(cpuPanel, sample(), nonsense).querySelector('.flame')?.outerHTML, shown(cpuPanel, sample()).querySelector('.flame')?.outerHTML, JSON.stringify(nonsense))
  }
})

t.test('the table, the remarks, and the way to the file', async (t) => {
  const root = shown(cpuPanel, sample())
  t.same(texts(root, '.heaviest tbody tr'), ['plain plain:3 5.5 ms 92 %5.5 msyour code', 'next node_modules/fastify/lib/hooks.js:234 0.5 ms 8.3 %6 msdependencies'])
  t.match(root.textContent, /6 ms of work in 10 ms, 4 ms of waiting/)
  for (const remark of [/2 other requests ran meanwhile and are in these figures too/, /has a limit of time/, /less than 0\.5 ms stand together/, /steps of 1 ms/]) t.match(root.textContent, remark)
  t.match(links(root, 'a[download]'), [/3fa94c\/cpu$/])
  const quiet = { ...record, others: 0, end: 'gone', leftOut: undefined, step: undefined }
  const other = shown(cpuPanel, profile('000001', { collectors: { cpu: quiet } }))
  t.match(other.textContent, /no other request ran meanwhile[^]*when the connection was closed/)
  t.notMatch(other.textContent, /left out|steps of/)
})

t.test('hostile names, refusals, failures and data of no known form', async (t) => {
  const hostile = shown(cpuPanel, sample(HOSTILE), { function: '1', call: '3' })
  t.equal(hostile.querySelectorAll('script, img, b, style').length, 0)
  t.match(hostile.querySelector('.heaviest a')?.textContent, /<script>alert\(1\)<\/script>/)
  const said = (cpu: unknown) => shown(cpuPanel, profile('000001', { collectors: { cpu } })).textContent
  t.equal(said({ refused: 'because <b>' }), 'because <b>')
  t.match(said({ error: 'it broke' }), /The collector failed: it broke/)
  for (const data of [null, 1, 'x', {}, { ...record, calls: {} }]) t.match(said(data), /not of a form that can be shown/)
  const idle = { ...record, calls: { function: [0, 4], parent: [-1, 0], self: [0, 1000] }, timeline: { call: [1], time: [1000] } }
  t.match(said(idle), /had nothing to do/)
})

t.test('what is very deep or very wide is bounded', async (t) => {
  const size = 5_000
  const functions = [...record.functions, { name: 'f', file: '', line: 0, column: 0, kind: 'own' }]
  for (const parent of [(i: number) => i - 1, () => 0, (i: number) => Math.floor((i - 1) / 2)]) {
    const calls = { function: Array.from({ length: size }, (_, i) => i === 0 ? 0 : 5), parent: Array.from({ length: size }, (_, i) => i === 0 ? -1 : parent(i)), self: Array.from({ length: size }, () => 1) }
    const root = shown(cpuPanel, profile('000001', { collectors: { cpu: { ...record, functions, calls, timeline: { call: [], time: [] } } } }))
    t.ok(root.querySelectorAll('.frame').length <= 2_000)
    t.ok(Number(root.querySelector('.flame')?.getAttribute('height')) <= 2_100)
    t.match(root.textContent, /too narrow or too deep/)
  }
})

t.test('the waterfall has it in short, or the way to it', async (t) => {
  const part = (root: DocumentFragment) => [...root.querySelectorAll('section')].find((one) => one.querySelector('h3')?.textContent === 'CPU')
  const short = part(shown(performancePanel, sample()))
  t.same(texts(short as Element, 'li'), ['plain 5.5 ms, 92 %', 'next 0.5 ms, 8.3 %'])
  t.same(links(short as Element, 'a'), ['?panel=cpu'])
  t.equal(part(shown(performancePanel, profile('000001'))), undefined)
  t.match(part(shown(performancePanel, profile('000001', { collectors: { cpu: { refused: 'one at a time' } } })))?.textContent, /one at a time/)
  const view = { query: {}, editor: null, base: '/_profiler', formToken: 'T', repeatsCpu: true }
  for (const [method, offered] of [['GET', true], ['HEAD', true], ['POST', false], ['DELETE', false], ['get', false]] as const) {
    t.equal(performancePanel.render(profile('000001', { method }), view).includes('action="/_profiler/000001/cpu"'), offered, method)
  }
})
