import t from 'tap'
import { findingsOf } from '../../../../lib/parts/queries/findings.js'
import { driverQueries, queryGroups } from '../../../../lib/parts/queries/groups.js'
import type { Query } from '../../../../lib/queries/query.js'
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
  const counted = { system: 'postgresql', duration: 10 }
  const further = [
    { ...counted, shape: 'select * from item where id = ?', statement: item, count: 3 },
    { ...counted, shape: 'select * from tag', statement: 'select * from tag', count: 2 }
  ]
  t.match(queryGroups(queries, further, findings), [
    { shape: 'select * from item where id = ?', statement: item, count: 9, distinct: 5, duration: 34, kind: 'n+1', sources: [/a\.js:3:7$/, /b\.js:4:7$/] },
    { shape: 'select * from rate', count: 2, distinct: 1, duration: 2, kind: 'duplicates' },
    { shape: 'select ?', count: 1, distinct: 1, kind: null, sources: [] },
    { shape: 'select * from tag', count: 2, distinct: 1, duration: 10, kind: null, sources: [] }
  ])
})

const query = (startedAt: number, endedAt: number | undefined, statement: string, others: Partial<Query> = {}): Query =>
  ({ system: 'postgresql', statement, startedAt, ...(endedAt !== undefined && { endedAt }), ...others })
const orm = (startedAt: number, endedAt: number | undefined, statement: string, others: Partial<Query> = {}): Query =>
  query(startedAt, endedAt, statement, { layer: 'orm', ...others })

t.test('the query of a driver is a part of that of an ORM, with the same shape and within its time', async t => {
  const inner = (queries: Query[]): number[] => {
    const found = driverQueries(queries)
    return queries.flatMap((query, i) => found.has(query) ? [i] : [])
  }
  t.same(inner([orm(0, 10, 'select ?'), query(2, 8, 'select $1')]), [1])
  t.same(inner([query(2, 8, 'select $1'), orm(0, 10, 'select ?')]), [0], 'reported when it has ended')
  t.same(inner([orm(1.6, 7.6, 'select ?'), query(1, 8, 'select $1')]), [1], 'an ORM that measures whole milliseconds')
  t.same(inner([orm(0, undefined, 'select ?'), query(2, undefined, 'select $1')]), [1], 'both run')
  t.same(inner([orm(0, 10, 'select ?'), query(2, 14, 'select $1')]), [], 'longer')
  t.same(inner([orm(4, 10, 'select ?'), query(2, 8, 'select $1')]), [], 'earlier')
  t.same(inner([orm(0, 10, 'select ?'), query(2, 8, 'select $1, $2')]), [], 'another shape')
  t.same(inner([orm(0, 10, 'select ?'), query(2, 8, 'select $1', { system: 'mysql' })]), [], 'another system')
  const mariadb = orm(0, 10, 'select ?', { system: 'mariadb' })
  t.same(inner([mariadb, query(2, 8, 'select ?', { system: 'mysql' })]), [1], 'the driver of another system')
  t.same(inner([query(0, 10, 'select $1'), query(2, 8, 'select $1')]), [], 'two queries of a driver')
  t.same(inner([orm(0, 10, 'select ?'), query(2, 4, 'select $1'), query(5, 8, 'select $1')]), [1], 'one each')
})

t.test('queries of an ORM at the same time have their own driver queries, and what these know', async t => {
  const queries = [
    orm(0, 10, 'select ?', { parameters: [1] }), orm(0, 10, 'select ?', { parameters: [2], rows: 5 }),
    query(1, 8, 'select $1', { parameters: [2], rows: 7, wait: 3 }), query(1, 9, 'select $1', { parameters: [1], rows: 8 })
  ]
  t.equal(driverQueries(queries).size, 2)
  t.match(queries.slice(0, 2), [{ parameters: [1], rows: 8 }, { parameters: [2], rows: 5, wait: 3 }])
})

t.test('a command of MongoDB is a part of the operation on its collection that runs, whatever its name', async t => {
  const mongodb = { system: 'mongodb' }
  const queries = [
    orm(0, 10, 'items.findOne', { ...mongodb, parameters: { filter: {} } }),
    query(1, 8, 'items.find', { ...mongodb, rows: 1, parameters: { filter: {}, limit: 1 } }), query(2, 8, 'users.find', mongodb)
  ]
  t.same([...driverQueries(queries)], [queries[1]])
  t.same([...driverQueries(queries)], [queries[1]], 'each time that it is asked')
  t.match(queries[0], { rows: 1, parameters: { filter: {}, limit: 1 } })
})
