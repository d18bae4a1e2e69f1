import t from 'tap'
import { matcher, type Criteria } from '../../../plugins/profiler/storage/criteria.js'
import { BlockSearch, fromLine, lineAt, packBlock, seqAt, spanOf, toLine } from '../../../plugins/profiler/storage/summary-block.js'
import { indexEntry, type IndexEntry } from '../../../plugins/profiler/storage/summary.js'
import { failure, profile } from '../fixture.js'

const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T
const WORDS = ['shoes', 'Red', 'ÜBER', 'ß', 'İ', '😀', '\ud83d', '\n', '\u0000', '%20', 'a', 'aa', '/', '?q=', 'Σίσυφος']
const text = (): string => Array.from({ length: Math.floor(Math.random() * 6) }, () => pick(WORDS)).join('')
const ROUTES = ['shop_show', 'shop_list', '*', '']
const IPS = ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8::7', '2001:0db8:0:0:0:0:0:7', 'nonsense', '']

function entry (number: number): IndexEntry {
  const changes = {
    method: pick(['GET', 'post', 'DELETE']),
    url: `http://h/${text()}`,
    ip: pick(IPS),
    status: pick([200, 201, 404, 500, 503]),
    duration: pick([0, 1.5, 99.99, 1_000]),
    time: pick(['2026-01-02T03:04:05.678Z', '2026-01-02T04:00:00.000Z', 'never']),
    route: Math.random() < 0.3 ? null : { name: pick(ROUTES), pattern: '/', params: {}, methods: [] },
    ...(Math.random() < 0.3 && { parent: pick(['000001', '000002']) })
  }
  const token = String(number).padStart(6, '0')
  if (Math.random() < 0.5) return indexEntry(profile(token, changes))
  return indexEntry(failure(token, { ...changes, exceptions: [{ name: 'TypeError', message: text(), frames: [], stack: '' }] }))
}

function criteria (): Criteria {
  const all: Required<Omit<Criteria, 'token'>> = {
    ip: pick(['10.1.2.3', '10.1.2.4', '10.0.0.0/8', '10.1.2.0/28', '10.1.3.0/24', '11.0.0.0/7', '192.168.0.0/16', '2001:db8::/32', '2001:db8::7', '2001:db8:0:0:7::/56', '2001:db9::/30', '::/0', '::/96', '::ffff:10.1.2.0/120']),
    method: pick(['get', 'POST', 'PUT']),
    status: pick(['404', '4xx', '5xx', '301']),
    url: text(),
    route: pick(['shop_*', 'shop_show', '*', '', 'none']),
    exception: text(),
    minDuration: pick([0, 1.5, 100, 5_000]),
    from: Date.parse(pick(['2026-01-02T03:04:05.678Z', '2026-01-02T03:30:00Z', '2027-01-01'])),
    until: Date.parse(pick(['2026-01-02T03:04:05.678Z', '2026-01-02T03:30:00Z', '2025-01-01'])),
    error: Math.random() < 0.5,
    parent: pick(['000001', '00000f'])
  }
  const few = Object.entries(all).filter(() => Math.random() < 0.2)
  return Object.fromEntries(few)
}

t.test('a block finds what the matcher finds', async (t) => {
  let found = 0
  let ruledOut = 0
  for (let round = 0; round < 60; round++) {
    const entries = Array.from({ length: 1 + Math.floor(Math.random() * 40) }, (_, i) => entry(i))
    const { zone, columns } = packBlock(entries.map(toLine), entries.map((_, i) => 3 * i + 5))
    for (let tries = 0; tries < 50; tries++) {
      const wanted = criteria()
      const fits = matcher(wanted)
      const expected = entries.filter(fits)
      const search = new BlockSearch(wanted)
      const mayHold = search.mayHold(zone)
      const candidates = mayHold ? search.candidates(spanOf(zone).rows, (column) => columns[column]) : []
      const actual = candidates.map((index) => fromLine(lineAt(columns.rows, index))).filter(fits)
      if (!mayHold) ruledOut++
      found += expected.length
      if (JSON.stringify(actual) !== JSON.stringify(expected)) t.strictSame(actual, expected, JSON.stringify(wanted))
    }
  }
  t.ok(found > 1_000, `${found} found`)
  t.ok(ruledOut > 100, `${ruledOut} blocks ruled out unread`)
})

t.test('a block knows its place', async (t) => {
  const lines = [toLine(entry(1)), toLine(entry(2)), toLine(entry(3))]
  const { zone, columns } = packBlock(lines, [7, 9, 30])
  t.strictSame(spanOf(zone), { rows: 3, first: 7, last: 30 })
  t.strictSame([0, 1, 2].map((i) => seqAt(columns.seq, i)), [7, 9, 30])
  t.strictSame([0, 1, 2].map((i) => lineAt(columns.rows, i)), lines)
})

t.test('a block rules out what it cannot hold', async (t) => {
  const entries = [indexEntry(profile('000001', { status: 204, duration: 5, ip: '192.0.2.1' })), indexEntry(profile('000002', { status: 404, ip: '2001:db8:1:2::9' }))]
  const { zone } = packBlock(entries.map(toLine), [1, 2])
  const time = Date.parse('2026-01-02T03:04:05.678Z')
  const cases: Array<[Criteria, boolean]> = [
    [{}, true],
    [{ status: '404' }, true],
    [{ status: '2xx' }, true],
    [{ status: '500' }, false],
    [{ status: '5xx' }, false],
    [{ minDuration: 5 }, true],
    [{ minDuration: 5.1 }, false],
    [{ from: time }, true],
    [{ from: time + 1 }, false],
    [{ until: time }, true],
    [{ until: time - 1 }, false],
    [{ url: 'ROBOTS' }, true],
    [{ url: 'nowhere' }, false],
    [{ url: 'T' }, true],
    [{ url: 'xt' }, true],
    [{ url: '~' }, false],
    [{ url: '%%' }, false],
    [{ url: 't%' }, false],
    [{ url: 'ß' }, false],
    [{ exception: 'anything' }, false],
    [{ exception: '' }, true],
    [{ ip: '192.0.2.1' }, true],
    [{ ip: '::ffff:192.0.2.1' }, true],
    [{ ip: '192.0.2.7' }, false],
    [{ ip: '192.0.2.0/28' }, true],
    [{ ip: '192.0.3.0/24' }, false],
    [{ ip: '192.0.0.0/16' }, true],
    [{ ip: '192.168.0.0/16' }, false],
    [{ ip: '10.0.0.0/8' }, false],
    [{ ip: '128.0.0.0/4' }, true],
    [{ ip: '2001:db8:1:2::/64' }, true],
    [{ ip: '2001:db8:1:3::/64' }, false],
    [{ ip: '2001:db8:1::/48' }, true],
    [{ ip: '2001:db8:1:ff00::/56' }, true],
    [{ ip: '2001:db9::/32' }, false],
    [{ ip: '2000::/16' }, true]
  ]
  for (const [wanted, expected] of cases) t.equal(new BlockSearch(wanted).mayHold(zone), expected, JSON.stringify(wanted))
  // Of a version that knew nothing of addresses and of what is shorter than three bytes.
  const known = zone.subarray(0, zone.length - 1_536)
  for (const [wanted, expected] of cases) {
    const told = wanted.ip === undefined && (wanted.url === undefined || wanted.url.length > 2)
    t.equal(new BlockSearch(wanted).mayHold(known), told ? expected : true, `an older block: ${JSON.stringify(wanted)}`)
  }
})

t.test('a line gives the entry back', async (t) => {
  const given = indexEntry(failure('00000a', { url: 'http://h/ü€😀\u0000\n', parent: '000001' }))
  t.strictSame(fromLine(toLine(given)), given)
  t.notMatch(toLine(given), '\n')
  t.equal(fromLine(toLine(given), true).summary.pinned, true)
})
