import t from 'tap'
import { createMask } from '../../../../lib/mask/mask.js'
import { responseRecord } from '../../../../lib/profiler/collectors/response.js'

const mask = createMask()
const headers = { 'content-type': 'application/json', 'x-debug-token': 'aaaaaa', 'x-debug-token-link': '/_profiler/aaaaaa' }

t.test('a record has the status, the size and the headers of its response', async t => {
  t.strictSame(responseRecord({ status: 200, size: 2, headers }, mask), { status: 200, headers, contentType: 'application/json', size: 2 })
  t.strictSame(responseRecord({ status: 204, size: null, headers: {} }, mask), { status: 204, headers: {}, contentType: null, size: null })
  t.strictSame(responseRecord({ status: 200, size: 2, headers: { etag: '"1"' }, body: '[binary]' }, mask), {
    status: 200, headers: { etag: '"1"' }, contentType: null, size: 2, body: '[binary]'
  })
})

t.test('the record of one response is not changed by the next one', async t => {
  const first = responseRecord({ status: 200, size: 2, headers }, mask)
  const other = responseRecord({ status: 200, size: 2, headers: { ...headers, 'x-debug-token': 'bbbbbb' } }, mask)
  t.equal(first.headers['x-debug-token'], 'aaaaaa')
  t.equal(other.headers['x-debug-token'], 'bbbbbb')
  t.not(responseRecord({ status: 200, size: 2, headers }, mask), first)
})

t.test('values of cookies are hidden, and lists are kept', async t => {
  for (const cookie of ['id=s3cr3t', ['id=s3cr3t', 'b=c']]) {
    const record = responseRecord({ status: 200, size: 2, headers: { 'set-cookie': cookie } }, mask)
    t.match(JSON.stringify(record), 'id=')
    t.notMatch(JSON.stringify(record), 's3cr3t')
  }
  t.same(responseRecord({ status: 200, size: 2, headers: { link: ['</a>', '</b>'] } }, mask).headers, { link: ['</a>', '</b>'] })
})

t.test('what a mask hides for one request is hidden for no other one', async t => {
  const response = { status: 302, size: 0, headers: { location: '/reset/s3cr3t' } }
  t.equal(responseRecord(response, mask.hiding({ token: 's3cr3t' })).headers.location, '/reset/******')
  t.equal(responseRecord(response, mask).headers.location, '/reset/s3cr3t')
})
