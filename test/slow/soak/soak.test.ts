import t from 'tap'
import { findings, soak, type Sample } from './soak.js'

t.test('a short run loses no profile and has the expected answers', async (t) => {
  const samples = await soak({ duration: 4_000, minRequests: 150, interval: 1_000, rate: 60, maxProfiles: 200 })
  const last = samples.at(-1)
  t.ok(samples.length >= 3)
  t.match(last, { unexpected: 0, lost: 0, dropped: 0, failed: 0 })
  t.ok(Number(last?.looked) > 0)
  t.ok(Number(last?.written) > 30, `${last?.written} written`)
})

const MB = 1_000_000
const flat: Sample = {
  at: 0,
  requests: 1_000,
  unexpected: 0,
  lost: 0,
  looked: 100,
  heap: 30 * MB,
  external: 5 * MB,
  resident: 200 * MB,
  file: 20 * MB,
  stored: 500,
  written: 900,
  dropped: 0,
  failed: 0
}
const run = (change: (i: number) => Partial<Sample>): Sample[] => Array.from({ length: 30 }, (_, i) => ({ ...flat, at: i * 60, ...change(i) }))

for (const [name, change, expected] of [
  ['all is flat', () => ({}), []],
  ['the first third may grow', (i) => ({ heap: Math.min(10, i) * 3 * MB, file: Math.min(10, i) * MB }), []],
  ['a single look is none', (i) => ({ heap: i === 29 ? 90 * MB : 30 * MB }), []],
  ['the heap grows', (i) => ({ heap: (30 + i / 3) * MB }), ['the heap has grown by 13.6 %']],
  ['the file grows', (i) => ({ file: (20 + i / 3) * MB }), ['the file of the store has grown by 19.2 %']],
  ['something is lost', () => ({ lost: 1 }), ['1 of 100 profiles were lost']],
  ['something is dropped or failed', () => ({ dropped: 2, failed: 3 }), ['2 profiles were dropped, 3 failed']],
  ['answers are not as expected', () => ({ unexpected: 4 }), ['4 of 1000 answers were not as expected']]
] as Array<[string, (i: number) => Partial<Sample>, string[]]>) {
  t.test(name, async (t) => {
    t.same(findings(run(change)), expected)
  })
}

t.test('a run that is too short has no findings', async (t) => {
  t.same(findings(run(() => ({})).slice(0, 2)), ['too short to say anything'])
})
