import t from 'tap'
import { findingsOf } from '../../../src/parts/queries/findings.js'
import { queryGroups } from '../../../src/parts/queries/groups.js'
import { recordedFrom, times, type Sent } from './sent.js'

const item = 'select * from item where id = $1'

t.test('groups have the count, time, lines and the kind of their queries; further queries are counted', async t => {
  const queries = recordedFrom([
    ...times(5, (i): Sent => ({ from: 'a.js:3 load', sql: item, parameters: [i] })),
    { from: 'b.js:4 load', sql: item, parameters: [0] },
    ...times(2, (): Sent => ({ from: 'a.js:9 load', sql: 'select * from rate', ms: 1 })),
    { from: '', sql: 'select 1' }
  ])
  const findings = findingsOf(queries, 100, 100)
  const counted = { system: 'postgresql', duration: 10, failed: 0, source: 'c.js:1:1' }
  const further = [
    { ...counted, shape: 'select * from item where id = ?', statement: item, count: 2 },
    { ...counted, shape: 'select * from item where id = ?', statement: item, count: 1, duration: 0, source: null },
    { ...counted, shape: 'select * from tag', statement: 'select * from tag', count: 2 }
  ]
  t.match(queryGroups(queries, further, findings), [
    {
      shape: 'select * from item where id = ?',
      statement: item,
      count: 9,
      distinct: 5,
      duration: 34,
      kind: 'repeated',
      sources: [/a\.js:3:7$/, /b\.js:4:7$/, 'c.js:1:1']
    },
    { shape: 'select * from rate', count: 2, distinct: 1, duration: 2, kind: 'duplicates' },
    { shape: 'select ?', count: 1, distinct: 1, kind: null, sources: [] },
    { shape: 'select * from tag', count: 2, distinct: 1, duration: 10, kind: null, sources: ['c.js:1:1'] }
  ])
})
