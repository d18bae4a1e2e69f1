import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { createMask, type Mask } from '../../../plugins/kernel/mask/mask.js'
import { sharedText } from '../../../plugins/kernel/shared-part.js'
import { headersNow } from '../../../plugins/profiler/collectors/request-headers.js'

const mask = createMask()
const socket = {}

function shown (headers: Record<string, string>, by: Mask, raw: object = { socket }): Record<string, unknown> {
  return headersNow({ headers, raw, server: { hindsight: { mask } } } as unknown as FastifyRequest)(by)
}

t.test('what a connection sends again is one shared part, masked', async t => {
  const headers = { accept: '*/*', authorization: 'Bearer s3cret' }
  const first = shown(headers, mask)
  const again = shown({ ...headers }, mask)
  t.same(first, { accept: '*/*', authorization: 'Bearer ******' })
  t.same(again, first)
  t.equal(sharedText(first), undefined)
  t.type(sharedText(again), 'string')
  t.equal(shown({ ...headers }, mask), again)
  t.same(shown({ ...headers, accept: 'text/html' }, mask), { ...first, accept: 'text/html' }, 'unless another is sent')
})

t.test('what only one request hides is hidden, and not remembered', async t => {
  const headers = { referer: 'http://a.example/reset/s3cret' }
  const other = { socket: {} }
  shown(headers, mask, other)
  for (let i = 0; i < 3; i++) {
    const hidden = shown({ ...headers }, mask.hiding({ token: 's3cret' }), other)
    t.same(hidden, { referer: 'http://a.example/reset/******' })
    t.equal(sharedText(hidden), undefined)
  }
  t.same(shown({ ...headers }, mask, other), headers)
})
