import t from 'tap'
import { traceOf } from '../../../src/parts/trace/index.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

t.test('valid traceparent headers are read (W3C Trace Context, section 3.2)', async t => {
  for (const [name, header, flags] of [
    ['sampled', `00-${TRACE}-${PARENT}-01`, 1],
    ['not sampled', `00-${TRACE}-${PARENT}-00`, 0],
    ['unknown flags', `00-${TRACE}-${PARENT}-fd`, 1],
    ['random', `00-${TRACE}-${PARENT}-03`, 3],
    ['a later version', `cc-${TRACE}-${PARENT}-01`, 1],
    ['a later version that says more', `01-${TRACE}-${PARENT}-01-what-the-future-brings`, 1]
  ] as const) t.same(traceOf(header), { traceId: TRACE, parentId: PARENT, sampled: (flags & 1) === 1 }, name)
})

t.test('invalid traceparent headers are ignored', async t => {
  for (const [name, header] of [
    ['none', undefined],
    ['empty', ''],
    ['twice', `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`],
    ['two of them', [`00-${TRACE}-${PARENT}-01`]],
    ['upper case', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
    ['version ff', `ff-${TRACE}-${PARENT}-01`],
    ['version 00 that says more', `00-${TRACE}-${PARENT}-01-x`],
    ['version 00 with a hyphen', `00-${TRACE}-${PARENT}-01-`],
    ['a later version that goes on without a hyphen', `01-${TRACE}-${PARENT}-01x`],
    ['no trace', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['no parent', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['too short', `00-${TRACE.slice(1)}-${PARENT}-01`],
    ['too long', `00-${TRACE}0-${PARENT}-01`],
    ['no flags', `00-${TRACE}-${PARENT}`],
    ['no hexadecimal', `00-${TRACE.replace('4', 'g')}-${PARENT}-01`],
    ['white space', ` 00-${TRACE}-${PARENT}-01`],
    ['a line feed', `00-${TRACE}-${PARENT}-01\n`]
  ] as const) t.equal(traceOf(header), null, name)
})
