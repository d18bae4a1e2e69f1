import t from 'tap'
import { readCpuRecord } from '../../../../lib/parts/cpu/record.js'
import { sample } from '../sample.js'

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
