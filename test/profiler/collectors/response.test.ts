import t from 'tap'
import { createMask } from '../../../plugins/kernel/mask/mask.js'
import { sharedText } from '../../../plugins/kernel/shared-part.js'
import { marked } from '../../../plugins/kernel/token-mark.js'
import { RecentRecords } from '../../../plugins/profiler/collectors/recent-records.js'
import { responseRecord } from '../../../plugins/profiler/collectors/response.js'

const mask = createMask()
const sent = (token: string, more: Record<string, unknown> = {}): { status: number, size: number, headers: Record<string, unknown> } => ({
  status: 200,
  size: 2,
  headers: { 'content-type': 'application/json', 'x-debug-token': token, 'x-debug-token-link': `/_profiler/${token}`, ...more }
})

t.test('answers that differ in their tokens alone are one record', async t => {
  const recent = new RecentRecords()
  const records = ['aaa', 'bbb', 'ccc'].map((token) => responseRecord(sent(token), token, mask, recent, true))
  const mark = marked('x', 'x')
  t.same(records[0], { status: 200, size: 2, contentType: 'application/json', headers: { 'content-type': 'application/json', 'x-debug-token': mark, 'x-debug-token-link': `/_profiler/${mark}` } })
  t.same(records[1], records[0])
  t.equal(records[2], records[1])
})

t.test('whatever else differs makes another', async t => {
  const recent = new RecentRecords()
  const first = [1, 2].map(() => responseRecord(sent('a'), 'a', mask, recent, true))[1]
  const others = [{ ...sent('a'), status: 201 }, { ...sent('a'), size: null }, { ...sent('a'), body: '[binary]' }, sent('a', { etag: '"1"' }), sent('a', { 'content-type': 'text/html' })]
  for (const facts of others) {
    const record = responseRecord(facts, 'a', mask, recent, true)
    t.not(record, first)
    t.same({ ...record, headers: 0 }, { status: facts.status, size: facts.size, contentType: facts.headers['content-type'], headers: 0, ...('body' in facts && { body: facts.body }) })
    t.equal(record.headers.etag, facts.headers.etag)
  }
})

t.test('cookies and lists are for one client, or may change: none is remembered', async t => {
  const recent = new RecentRecords()
  for (const more of [{ 'set-cookie': 'id=s3cr3t' }, { 'set-cookie': ['id=s3cr3t', 'b=c'] }, { link: ['</a>', '</b>'] }]) {
    const records = [1, 2, 3].map(() => responseRecord(sent('a', more), 'a', mask, recent, true))
    t.ok(records.every((record) => sharedText(record) === undefined))
    t.notMatch(JSON.stringify(records), 's3cr3t')
  }
})

t.test('nor is what a mask hides for one request alone', async t => {
  const recent = new RecentRecords()
  const hiding = mask.hiding({ token: 's3cr3t' })
  const records = [1, 2, 3].map(() => responseRecord(sent('a', { location: '/reset/s3cr3t' }), 'a', hiding, recent, false))
  t.ok(records.every(({ headers }) => headers.location === '/reset/******'))
  t.ok(records.every((record) => sharedText(record) === undefined))
})
