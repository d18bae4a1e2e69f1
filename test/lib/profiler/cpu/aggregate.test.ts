import type { Profiler } from 'node:inspector'
import t from 'tap'
import { aggregate, functionOf } from '../../../../lib/profiler/cpu/recorder.js'
import { callTreeOf, readCpuRecord } from '../../../../lib/profiler/cpu/record.js'
import { sample } from '../sample.js'

const keep = (text: string): string => text
const frame = (functionName: string, lineNumber = 0, url = 'file:///app/a.js') => ({ functionName, scriptId: '1', url, lineNumber, columnNumber: 0 })

/** A recording: a list of parents (by the number of a node, from 1) and what was at work in steps of a millisecond. */
function recording (names: ReadonlyArray<readonly [name: string, parent: number]>, samples: number[], line = (_i: number) => 0): Profiler.Profile {
  const nodes = names.map(([name], i) => ({ id: i + 1, callFrame: frame(name, line(i)), children: [] as number[] }))
  names.forEach(([, parent], i) => nodes[parent - 1]?.children.push(i + 1))
  return { nodes, samples, timeDeltas: samples.map(() => 1000), startTime: 0, endTime: (samples.length + 1) * 1000 }
}

t.test('a sample lasts until the next, and equal functions below the same parent are merged', async (t) => {
  const profile = recording([['(root)', 0], ['a', 1], ['b', 2], ['b', 2], ['a', 4]], [2, 3, 3, 4, 5, 1])
  const record = aggregate(profile, 250, 10_000, keep)
  t.same(record.functions.map(({ name }) => name), ['(root)', 'a', 'b'])
  t.same(record.calls, [[0, -1, 1000], [1, 0, 1000], [2, 1, 3000], [1, 2, 1000]])
  t.equal(record.duration, 6)
  const times = callTreeOf(record).heaviest.map(({ function: { name }, self, total }) => [name, self, total])
  t.same(times, [['b', 3000, 4000], ['a', 2000, 5000], ['(root)', 1000, 6000]], 'a recursive function is counted once')
})

t.test('a recording of any size fits, and its total time is unchanged', async (t) => {
  const size = 20_000
  const names = Array.from({ length: size }, (_, i) => [`function number ${i}`, i === 0 ? 0 : 1 + Math.floor(i / 3)] as const)
  const profile = recording(names, Array.from({ length: 60_000 }, (_, i) => 1 + (i * 7919) % size), (i) => i)
  for (const bytes of [200_000, 20_000, 2_000]) {
    const record = aggregate(profile, 250, bytes, keep)
    t.ok(JSON.stringify(record).length <= bytes, String(bytes))
    t.ok(record.calls.length < size)
    t.equal(record.duration, 60_000)
    t.equal(record.calls.reduce((sum, [, , time]) => sum + time, 0), 60_000_000, 'no time is lost')
    t.not(readCpuRecord(JSON.parse(JSON.stringify(record))), null)
  }
  t.equal(aggregate(profile, 250, 1, keep).functions.length, 1, 'the root remains if no call fits')
})

t.test('an empty or inconsistent recording is handled', async (t) => {
  const empty = aggregate({ nodes: [], startTime: 0, endTime: 0 }, 250, 1000, keep)
  t.equal(readCpuRecord(JSON.parse(JSON.stringify(empty))), null)
  const odd = aggregate({ ...recording([['(root)', 0]], [1, 99, 1]), timeDeltas: [5, -7, 3], endTime: 0 }, 250, 1000, keep)
  t.ok(odd.calls.every(([, , time]) => time >= 0))
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

t.test('a function belongs to the application, a dependency, Node.js or Hindsight, by its URL', async (t) => {
  const root = '/app'
  for (const [url, file, kind] of [
    ['file:///app/src/a.js', 'src/a.js', 'own'],
    ['file:///app/src/a%20b.js?v=2', 'src/a b.js', 'own'],
    ['/app/src/a.js', 'src/a.js', 'own'],
    ['file:///app/node_modules/x/a.js', 'node_modules/x/a.js', 'dependency'],
    ['file:///elsewhere/a.js', '/elsewhere/a.js', 'dependency'],
    ['node:internal/x', 'node:internal/x', 'node'],
    ['data:text/javascript,x', 'data:text/javascript,x', 'dependency'],
    ['evalmachine.<anonymous>', 'evalmachine.<anonymous>', 'dependency'],
    ['', '', 'dependency'],
    ['file://%', 'file://%', 'dependency'],
    [new URL('../../../../lib/lifecycle/pass.ts', import.meta.url).href, null, 'hindsight']
  ] as const) {
    const found = functionOf(frame('f', 4, url), keep, root)
    t.equal(found.kind, kind, url)
    if (file !== null) t.match(found, { file, line: 5, column: 1 })
  }
  t.equal(functionOf({ ...frame('(program)', -1, ''), scriptId: '0' }, keep, root).kind, 'engine')
  t.match(functionOf(frame('', -1), keep, root), { name: '(anonymous)', line: 0 })
  t.equal(functionOf(frame('x'.repeat(5000), 0), (text) => text.replace('x', 'y'), root).name.slice(0, 3), 'yxx')
  t.ok(functionOf(frame('x'.repeat(5000), 0), keep, root).name.length < 300)
})
