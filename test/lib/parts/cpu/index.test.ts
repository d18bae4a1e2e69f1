import t from 'tap'
import { cpu as cpuPanel, readCpuRecord } from '../../../../lib/parts/cpu/index.js'
import { profile } from '../fixture.js'
import { HOSTILE } from '../hostile.js'
import { sample } from '../sample.js'
import { shown, texts } from '../support.js'

const record = sample().collectors.cpu as { functions: object[] }
const links = (root: ParentNode, selector: string) => [...root.querySelectorAll(selector)].map((link) => link.getAttribute('href'))

t.test('the bars of the flame graph are as wide as their time', async (t) => {
  const root = shown(cpuPanel, sample())
  t.same(texts(root, '.flame title'), [
    '(root): 6 ms (100 %)',
    'run, node:async_hooks:332: 6 ms (100 %)',
    'next, node_modules/fastify/lib/hooks.js:234: 6 ms (100 %)',
    'plain, plain:3: 5.5 ms (92 %)',
    'plain, plain:3: 1 ms (17 %)'
  ])
  t.same([...root.querySelectorAll('.frame')].map((bar) => ['class', 'x', 'y', 'width'].map((name) => bar.getAttribute(name))), [
    ['frame code-engine', '0.000%', '0', '100.000%'], ['frame code-node', '0.000%', '20', '100.000%'],
    ['frame code-dependency', '0.000%', '40', '100.000%'], ['frame code-own', '0.000%', '60', '91.667%'],
    ['frame code-own', '0.000%', '80', '16.667%']
  ])
  t.equal(root.querySelectorAll('[style]').length, 0)
  t.same(texts(root, '.legend li'), ['your code', 'dependencies', 'Node.js', 'V8'])
})

t.test('the panel has a table, notes and a download', async (t) => {
  const root = shown(cpuPanel, sample())
  t.same(
    texts(root, '.heaviest tbody tr'), ['plain plain:35.5 ms 92 %5.5 msyour code', 'next node_modules/fastify/lib/hooks.js:234500 µs 8.3 %6 msdependencies']
  )
  t.match(root.textContent, /6 ms busy and 4 ms idle in 10 ms/)
  for (const remark of [/other requests included/, /40 samples, one each 250 µs/]) t.match(root.textContent, remark)
  t.match(links(root, 'a[download]'), [/3fa94c\/cpu$/])
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
    t.ok(root.querySelectorAll('.frame').length <= 2_000)
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
