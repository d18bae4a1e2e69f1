import t from 'tap'
import { blocksIn, doPauseWork, internalWorkIn, takeSample, watchLoop } from '../../src/recording/event-loop.js'

const now = (): number => Number(process.hrtime.bigint())

/** Takes so many milliseconds of CPU time. */
function spin (ms: number): void {
  const before = takeSample().cpu
  while (takeSample().cpu < before + ms);
}

t.test('a pause is work of Hindsight, since its thread was notified', async (t) => {
  const start = performance.now()
  t.equal(doPauseWork(() => 'done', { at: now() - 50 * 1_000_000, calls: 1, isNext: false }), 'done')
  const work = internalWorkIn({ start: start - 1_000, end: performance.now() }).at(-1)
  t.ok(work !== undefined && work.start < start && work.end - work.start >= 50, JSON.stringify(work))
})

t.test('the CPU time in which V8 describes the stacks of pauses is no block', async (t) => {
  const start = performance.now()
  const { end } = watchLoop()
  for (let i = 0; i < 3; i++) {
    doPauseWork(() => {}, { at: now(), calls: 200, isNext: false })
    spin(30)
    doPauseWork(() => {}, { at: now(), calls: 200, isNext: true })
  }
  end()
  t.same(blocksIn({ start, end: performance.now() }), [])
})

t.test('the CPU time of the first pause of two is about that of the second', async (t) => {
  doPauseWork(() => {}, { at: now(), calls: 200, isNext: false })
  spin(40)
  doPauseWork(() => {}, { at: now(), calls: 200, isNext: true })
  const start = performance.now()
  const { end } = watchLoop()
  spin(60)
  doPauseWork(() => {}, { at: now(), calls: 200, isNext: false })
  end()
  t.same(blocksIn({ start, end: performance.now() }), [], 'of 60 ms, 40 ms are of V8')
})

t.test('the time of other threads between two pauses does not hide a block', async (t) => {
  doPauseWork(() => {}, { at: now(), calls: 10, isNext: false })
  spin(100)
  doPauseWork(() => {}, { at: now(), calls: 10, isNext: true })
  const start = performance.now()
  const { end } = watchLoop()
  // Twice as long as the shortest block with what may be of V8, also where another thread of Node.js 20 has half of it.
  spin(300)
  doPauseWork(() => {}, { at: now(), calls: 10, isNext: false })
  end()
  t.equal(blocksIn({ start, end: performance.now() }).length, 1)
})
