import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { ObjectId } from 'mongodb'
import t from 'tap'
import type { RecordedQuery } from '../../../src/parts/queries/recorded-query.js'
import { queryPlace } from '../../../src/parts/queries/trace.js'
import { findingsOf } from '../../../src/parts/queries/findings.js'
import type { QueryGroup } from '../../../src/parts/queries/groups.js'
import { observe, recordQuery } from '../../../src/queries/observe.js'
import { beginQuery, callAsync } from '../../../src/queries/query.js'
import { readSearch } from '../../../src/store/search-query.js'
import { profileOf } from '../../support/app.js'
import { inBothModes } from '../../support/products.js'
import type { Database } from './database.js'
import { recordedFrom, times, type Sent } from './sent.js'

const item = 'select * from item where id = $1'
const redis = { system: 'redis' }
const mongodb = { system: 'mongodb' }
const sqlite = { system: 'sqlite' }
const list: Sent = { from: 'orders.js:28 list', sql: 'select * from orders where user_id = $1', parameters: [1], rows: 24 }
const inLoop = (i: number): Sent => ({ from: 'orders.js:31 list', sql: item, parameters: [i] })
const begin: Sent = { from: 'tx.js:3 transaction', sql: 'BEGIN', rows: 0, ms: 1 }
const commit: Sent = { from: 'tx.js:9 transaction', sql: 'COMMIT', rows: 0, ms: 1 }
const rollback: Sent = { from: 'tx.js:12 transaction', sql: 'ROLLBACK', rows: 0, ms: 1 }

function findings (sent: readonly Sent[], slow = 100) {
  return findingsOf(recordedFrom(sent), 140, slow)
}

/** Code that is as it should be, or of which it is not certain. */
const ordinary: Readonly<Record<string, readonly Sent[]>> = {
  'a page with a list and one query for its details': [
    { from: 'orders.js:10 list', sql: 'select * from users where id = $1', parameters: [1] },
    { from: 'orders.js:12 list', sql: 'select * from orders where user_id = $1', parameters: [1], rows: 24 },
    {
      from: 'orders.js:14 list',
      sql: `select * from item where order_id in (${times(24, (i) => `$${i + 1}`).join()})`,
      parameters: times(24, (i) => i),
      rows: 70
    }
  ],
  'a batch job that reads chunks by keyset and updates each row': times(6, (chunk): Sent[] => [
    { from: 'job.js:8 run', sql: 'select id, total from invoice where id > $1 order by id limit $2', parameters: [chunk * 100, 100], rows: 100 },
    ...times(3, (i): Sent => ({ from: 'job.js:12 run', sql: 'update invoice set paid = true where id = $1', parameters: [chunk * 100 + i] }))
  ]),
  'pages by offset':
    times(8, (i): Sent => ({ from: 'export.js:5 dump', sql: 'select * from log order by id limit $1 offset $2', parameters: [50, i * 50], rows: 50 })),
  'pages by offset, in parallel and as literals': times(8, (i): Sent =>
    ({ from: 'export.js:5 dump', sql: `select * from log order by id limit ${i * 50}, 50`, system: 'mysql', rows: 50, together: i > 0 })),
  'pages by a keyset of two columns': times(7, (i): Sent =>
    ({
      from: 'feed.js:5 read',
      sql: 'select * from post where (created, id) < ($1, $2) order by created desc, id desc limit 20',
      parameters: [`2026-01-${i}`, i],
      rows: 20
    })),
  'pages of SQL Server': times(6, (i): Sent =>
    ({
      from: 'feed.js:5 read',
      sql: 'select * from post order by id offset @o rows fetch next 20 rows only',
      parameters: { o: i * 20 },
      system: 'microsoft.sql_server'
    })),
  'ranges of identifiers': times(9, (i): Sent =>
    ({ from: 'index.js:5 reindex', sql: 'select * from post where id between $1 and $2', parameters: [i * 500, i * 500 + 499], rows: 480 })),
  'ranges of one account': times(9, (i): Sent =>
    ({
      from: 'index.js:5 reindex', sql: 'select * from post where account = $1 and id >= $2 and id < $3', parameters: [7, i * 500, i * 500 + 500], rows: 480
    })),
  'ranges of one account of MongoDB': times(9, (i): Sent => ({
    from: 'index.js:5 reindex', sql: 'post.find', parameters: { filter: { account: 7, _id: { $gte: i * 500, $lt: i * 500 + 500 } } }, ...mongodb, rows: 480
  })),
  'a transaction that is tried again after a conflict': times(3, (): Sent[] => [
    begin,
    { from: 'pay.js:8 pay', sql: 'select balance from account where id = $1', parameters: [1] },
    { from: 'pay.js:9 pay', sql: 'update account set balance = $1 where id = $2', parameters: [5, 1] },
    commit
  ]),
  'a read that is tried again after a failure': [
    { from: 'a.js:3 load', sql: item, parameters: [1] },
    { from: 'a.js:4 load', sql: 'select * from price where id = $1', parameters: [1], error: 'timeout' },
    { from: 'a.js:3 load', sql: item, parameters: [1] },
    { from: 'a.js:4 load', sql: 'select * from price where id = $1', parameters: [1] }
  ],
  'chunks of inserts':
    times(10, (i): Sent => ({ from: 'import.js:5 save', sql: 'insert into log (a, b) values ($1, $2), ($3, $4)', parameters: [i, 1, i, 2] })),
  'an insert for each row in a transaction': [
    begin, ...times(20, (i): Sent => ({ from: 'import.js:7 save', sql: 'insert into log (a) values ($1)', parameters: [i] })), commit
  ],
  'batches of a DataLoader': times(6, (i): Sent =>
    ({ from: 'loader.js:4 batch', sql: 'select * from users where id in ($1, $2, $3)', parameters: [i, i + 10, i + 20], rows: 3 })),
  'chunks of which the last has one item': times(6, (i): Sent => ({
    from: 'loader.js:4 batch',
    sql: i === 5 ? 'select * from users where id in ($1)' : 'select * from users where id in ($1, $2)',
    parameters: i === 5 ? [99] : [i, i + 10]
  })),
  'events that are polled': times(6, (i): Sent => ({ from: 'sse.js:4 stream', sql: 'select * from event where id > $1', parameters: [i], rows: 1, pause: 50 })),
  'batches with an array':
    times(6, (i): Sent => ({ from: 'loader.js:4 batch', sql: 'select * from users where id = any($1)', parameters: [[i, i + 10]], rows: 2 })),
  'batches with literals': times(6, (i): Sent => ({ from: 'loader.js:4 batch', sql: `select * from users where id in (${i}, ${i + 10})`, rows: 2 })),
  'batches as JSON': times(6, (i): Sent =>
    ({
      from: 'loader.js:4 batch', sql: 'select * from users where id in (select value from json_each(?))', parameters: [`[${i},${i + 10}]`], ...sqlite, rows: 2
    })),
  'a state that is polled':
    times(6, (i): Sent => ({ from: 'wait.js:6 poll', sql: 'select state from job where id = $1', parameters: [7], pause: i > 0 ? 50 : 1 })),
  'a state that is polled in short, regular pauses':
    times(6, (): Sent => ({ from: 'wait.js:6 poll', sql: 'select state from job where id = $1', parameters: [7], pause: 5 })),
  'two states that are polled': times(6, (i): Sent => ({ from: 'wait.js:6 poll', sql: 'select state from job where id = $1', parameters: [i % 2], pause: 50 })),
  migrations: times(8, (i): Sent[] => [
    { from: 'migrate.js:9 up', sql: 'select 1 from migration where name = $1', parameters: [`00${i}`], rows: 0 },
    { from: 'migrate.js:12 up', sql: `create table t${i} (id int)` },
    { from: 'migrate.js:13 up', sql: 'insert into migration (name) values ($1)', parameters: [`00${i}`] }
  ]),
  'advisory locks': times(6, (i): Sent => ({ from: 'lock.js:3 lock', sql: 'select pg_try_advisory_lock($1) from unnest(array[1]) as t', parameters: [i] })),
  'the columns of tables': times(9, (i): Sent =>
    ({ from: 'schema.js:3 columns', sql: 'select column_name from information_schema.columns where table_name = $1', parameters: [`t${i}`], rows: 7 })),
  'a session': [
    { from: 'session.js:3 get', sql: 'GET', parameters: ['session:0f3a9c7d5e1b48aa'], ...redis },
    { from: 'auth.js:5 user', sql: 'select * from users where id = $1', parameters: [1] },
    { from: 'session.js:9 touch', sql: 'EXPIRE', parameters: ['session:0f3a9c7d5e1b48aa', 3600], ...redis },
    { from: 'session.js:3 get', sql: 'GET', parameters: ['session:0f3a9c7d5e1b48aa'], ...redis }
  ],
  'health checks': times(6, (i): Sent => ({ from: 'health.js:3 check', sql: 'select 1', ms: 3, pause: i })),
  counters: times(10, (i): Sent => ({ from: 'count.js:3 hit', sql: 'INCR', parameters: [`hits:${i}`], ...redis })),
  sequences: times(10, (): Sent => ({ from: 'id.js:3 next', sql: "select nextval('ids') from generate_series(1, 1)" })),
  'cache-aside': times(3, (i): Sent[] => [
    { from: `cache.js:4 cached < page.js:${10 + i} page`, sql: 'GET', parameters: [`page:${i}`], ...redis, rows: 0 },
    { from: `page.js:${20 + i} page`, sql: 'select * from block where page = $1', parameters: [i] },
    { from: `cache.js:9 cached < page.js:${10 + i} page`, sql: 'SET', parameters: [`page:${i}`, 'x'], ...redis }
  ]),
  'a lock of a cache that is waited for':
    times(6, (): Sent => ({ from: 'cache.js:12 wait', sql: 'GET', parameters: ['page:1'], ...redis, rows: 0, pause: 25 })),
  'different queries at the same time': ['a', 'b', 'c', 'd', 'e'].map((name, i): Sent =>
    ({ from: `dash.js:${i + 3} load`, sql: `select * from ${name} where user_id = $1`, parameters: [1], together: i > 0 })),
  'a fixed list of calls of one helper': ['open', 'paid', 'sent', 'done', 'lost', 'new'].map((state, i): Sent =>
    ({ from: `count.js:3 countOf < dash.js:${i + 10} load`, sql: 'select count(*) from orders where state = $1', parameters: [state], together: i > 0 })),
  'calls of one helper in one line': times(6, (i): Sent =>
    ({ from: `flag.js:3 flag < page.js:5:${i * 12 + 3} page`, sql: 'select value from flag where name = $1', parameters: [`f${i}`] })),
  'one line of a query function': times(12, (i): Sent =>
    ({
      from: `db.js:10 query < repo${i % 4}.js:5 find < page.js:${i + 3} page`, sql: i % 2 === 0 ? item : `select * from t${i} where id = $1`, parameters: [i]
    })),
  'lines of one function': times(6, (i): Sent => ({ from: `seed.js:${i + 3} seed`, sql: item, parameters: [i] })),
  savepoints: [
    begin,
    { from: 'a.js:3 save', sql: 'SAVEPOINT a' },
    { from: 'a.js:4 save', sql: 'insert into t (a) values ($1)', parameters: [1], error: 'duplicate key' },
    { from: 'a.js:5 save', sql: 'ROLLBACK TO SAVEPOINT a' },
    { from: 'a.js:6 save', sql: 'update t set n = n + 1 where a = $1', parameters: [1] },
    commit
  ],
  'a dry run that is rolled back': [begin, { from: 'a.js:4 run', sql: 'delete from t where a = $1', parameters: [1] }, rollback],
  'a failure without a transaction': [{ from: 'a.js:4 run', sql: 'insert into t (a) values (1)', error: 'duplicate key' }, begin, rollback],
  'recursion over a tree': times(9, (i): Sent =>
    ({
      from: `tree.js:4 walk${' < tree.js:6 walk'.repeat(Math.min(i, 3))} < page.js:9 page`, sql: 'select * from node where owner = $1', parameters: [i], rows: 2
    })),
  'a tree by levels':
    times(9, (i): Sent => ({ from: 'tree.js:12 walk', sql: 'select * from node where parent_id = $1', parameters: [i], rows: i < 4 ? 2 : 0 })),
  'a list of employees of each employee': times(6, (i): Sent =>
    ({ from: 'staff.js:4 load', sql: 'select * from employee where manager_id = $1', parameters: [i], rows: [3, 0, 2, 0, 0, 0][i] ?? 0 })),
  'employees below those without a manager': [
    { from: 'staff.js:2 load', sql: 'select * from employee where manager_id is null', rows: 2 },
    ...times(7, (i): Sent =>
      ({ from: 'staff.js:4 load', sql: 'select * from employee where manager_id = $1', parameters: [i], rows: [3, 2, 0, 0, 0, 0, 0][i] ?? 0 }))
  ],
  'a graph of which each node is visited once': [[2, 3], [1, 4], [4, 5], [6], [1, 2], [3, 5]].map((next, i): Sent => ({
    from: 'graph.js:9 walk',
    sql: 'select * from edge where source = $1',
    parameters: [i + 1],
    rows: next.length,
    row: next.map((target) => ({ id: 40 + target, source: i + 1, target, cost: 4 }))
  })),
  'a descent whose rows are not known': times(6, (i): Sent =>
    ({ from: `tree.js:4 down${' < tree.js:6 async down'.repeat(i)} < page.js:9 page`, sql: 'select * from node where above = $1', parameters: [i], rows: 3 })),
  'the same of each schema and of each user': [
    'set local search_path to t1', 'set search_path to pg_catalog', "set role 'a'", 'reset role', 'use t2', 'pragma case_sensitive_like = on'
  ].flatMap((sql): Sent[] => [{ from: 'a.js:3 load', sql }, { from: 'a.js:4 load', sql: 'select * from item' }]),
  'the same of each database of Redis': times(2, (i): Sent[] =>
    [{ from: 'a.js:3 load', sql: 'SELECT', parameters: [i], ...redis }, { from: 'a.js:4 load', sql: 'GET', parameters: ['settings'], ...redis }]),
  'a value that is read again after it was written': [
    { from: 'a.js:3 save', sql: item, parameters: [1] },
    { from: 'a.js:4 save', sql: 'update item set n = 2 where id = $1', parameters: [1] },
    { from: 'a.js:5 save', sql: item, parameters: [1] }
  ],
  'a value that is read again after a function was called': [
    { from: 'a.js:3 save', sql: item, parameters: [1] },
    { from: 'a.js:4 save', sql: 'select refresh_item($1)', parameters: [1] },
    { from: 'a.js:5 save', sql: item, parameters: [1] }
  ],
  'a value that is read again under a lock': [
    { from: 'a.js:3 save', sql: item, parameters: [1] },
    { from: 'a.js:4 save', sql: 'select * from lock where id = 1 for update' },
    { from: 'a.js:5 save', sql: item, parameters: [1] }
  ],
  'a queue': times(7, (i): Sent[] => [
    { from: 'queue.js:3 next', sql: 'select * from task where state = $1 order by id for update skip locked limit 1', parameters: ['new'] },
    { from: 'queue.js:4 next', sql: 'update task set state = $1 where id = $2', parameters: ['done', i] }
  ]),
  'a pipeline of Redis': times(20, (i): Sent => ({ from: 'cart.js:3 load', sql: 'GET', parameters: [`item:${i}`], ...redis, together: i > 0 })),
  'chunks of MGET': times(6, (i): Sent => ({ from: 'cart.js:3 load', sql: 'MGET', parameters: [`item:${i}`, `item:${i + 10}`], ...redis, rows: 2 })),
  'chunks of the fields of one hash': times(6, (i): Sent =>
    ({ from: 'cart.js:3 load', sql: 'HMGET', parameters: ['items', `f${i}`, `f${i + 10}`], ...redis, rows: 2 })),
  'parts of a list of Redis': times(6, (i): Sent => ({ from: 'log.js:3 read', sql: 'LRANGE', parameters: ['log:1', i * 10, i * 10 + 9], ...redis, rows: 10 })),
  SCAN: times(6, (i): Sent => ({ from: 'keys.js:3 all', sql: 'SCAN', parameters: [String(i), 'MATCH', 'a:*'], ...redis, rows: 10 })),
  'pages of MongoDB':
    times(6, (i): Sent => ({ from: 'feed.js:3 read', sql: 'post.find', parameters: [{ draft: false }, { skip: i * 10, limit: 10 }], ...mongodb, rows: 10 })),
  'chunks of $in': times(6, (i): Sent => ({ from: 'feed.js:3 read', sql: 'post.find', parameters: [{ _id: { $in: [i, i + 10] } }], ...mongodb, rows: 2 })),
  'writes of MongoDB': times(6, (i): Sent => ({ from: 'save.js:3 save', sql: 'post.updateOne', parameters: [{ _id: i }, { $inc: { n: 1 } }], ...mongodb })),
  'a repository of MongoDB with one line': times(6, (i): Sent =>
    ({ from: 'repo.js:3 findOne', sql: 'user.findOne', parameters: [{ [`field${i}`]: i }], ...mongodb })),
  'four queries of one line': times(4, (i): Sent => ({ from: 'a.js:3 load', sql: item, parameters: [i] })),
  'settings of a connection': times(6, (i): Sent => ({ from: 'pool.js:3 init', sql: `set statement_timeout = ${i}`, ms: 3 })),
  'a query that needs the result of another': [
    { from: 'a.js:3 load', sql: 'select id from users where name = $1', parameters: ['ann'], ms: 20 },
    { from: 'a.js:4 load', sql: 'select * from orders where user_id = $1', parameters: [7], ms: 20 }
  ],
  'a list and the details of one': [
    { from: 'a.js:3 load', sql: 'select * from users where id = $1', parameters: [7], ms: 20 },
    { from: 'a.js:5 load', sql: 'select count(*) from orders where user_id = $1', parameters: [7], ms: 20 }
  ],
  'queries of one transaction': [
    begin,
    { from: 'a.js:3 load', sql: 'select * from country', ms: 20 },
    { from: 'a.js:4 load', sql: 'select * from currency', ms: 20 },
    commit
  ],
  'queries of a database in the process': [
    { from: 'a.js:3 load', sql: 'select * from country', ms: 20, ...sqlite },
    { from: 'a.js:4 load', sql: 'select * from currency', ms: 20, ...sqlite }
  ],
  'a hook and a handler of one file': [
    { from: 'app.js:3', sql: 'select * from country', ms: 20 },
    { from: 'app.js:9', sql: 'select * from currency', ms: 20 }
  ],
  'two functions that use one helper': [
    { from: 'db.js:3 query < a.js:3 countries', sql: 'select * from country', ms: 20 },
    { from: 'db.js:3 query < a.js:9 currencies', sql: 'select * from currency', ms: 20 }
  ],
  'queries with other work in between': [
    { from: 'a.js:3 load', sql: 'select * from country', ms: 20 },
    { from: 'a.js:9 load', sql: 'select * from currency', ms: 20, pause: 15 }
  ],
  'a list of calls of one function that was resumed': times(6, (i): Sent =>
    ({ ...inLoop(i), position: i, together: i > 0 })),
  'parents up to the root': [
    { from: 'tree.js:3 path', sql: 'select id from category', rows: 6 },
    ...times(6, (i): Sent => ({
      from: 'tree.js:8 path',
      sql: 'select * from category where id = $1',
      parameters: [i + 20],
      row: { id: i + 20, name: 'x', parent_id: i === 5 ? null : i + 21 }
    }))
  ],
  'parents up to the root, with an object of parameters': times(6, (i): Sent => ({
    from: 'tree.js:8 path', sql: 'Category.findUnique', parameters: { where: { id: `c${i}` } }, system: 'prisma', row: { id: `c${i}`, parentId: `c${i + 1}` }
  })),
  'rows by identifier that Prisma asks for together': times(6, (i): Sent =>
    ({ from: 'a.js:9 load', sql: 'Item.findUnique', parameters: { where: { id: i } }, system: 'prisma', together: i > 0 })),
  'parents up to the root, with identifiers of MongoDB': times(6, (i): Sent => ({
    from: 'tree.js:8 path',
    sql: 'category.findOne',
    parameters: { filter: { _id: ObjectId.createFromTime(i) } },
    ...mongodb,
    row: { parent: ObjectId.createFromTime(i + 1) }
  })),
  'chunks of joined values': times(6, (i): Sent => ({
    from: 'loader.js:4 batch', sql: 'select * from item join (values ($1), ($2)) as v (id) using (id)', parameters: [i, i + 10], rows: 2
  })),
  'chunks of joined rows of values': times(6, (i): Sent => ({
    from: 'loader.js:4 batch', sql: 'select * from item join (values ($1, 1), ($2, 1)) as v (id, n) using (id)', parameters: [i, i + 10], rows: 2
  })),
  'chunks of alternatives': times(6, (i): Sent =>
    ({ from: 'loader.js:4 batch', sql: 'select * from item where id = $1 or id = $2 or id = $3', parameters: [i, i + 10, i + 20], rows: 3 })),
  'chunks of a union': times(6, (i): Sent => ({
    from: 'loader.js:4 batch', sql: 'select * from item i where i.id = $1 union all select * from item i where i.id = $2', parameters: [i, i + 10], rows: 2
  })),
  'a value that is read before and in a transaction': [
    { from: 'a.js:3 save', sql: item, parameters: [1] }, begin, { from: 'a.js:5 save', sql: item, parameters: [1] }, commit
  ],
  'a value that is read in two transactions': times(2, (): Sent[] => [begin, { from: 'a.js:5 save', sql: item, parameters: [1] }, commit]),
  'a function that returns another job each time': times(3, (): Sent => ({ from: 'queue.js:3 next', sql: 'select * from pop_job()' })),
  'a function of a schema that returns another job each time':
    times(3, (): Sent => ({ from: 'queue.js:3 next', sql: 'select id from queue.pop($1) as job', parameters: ['mail'] })),
  'a value that is read again after rows of a function were read': [
    { from: 'a.js:3 save', sql: item, parameters: [1] },
    { from: 'a.js:4 save', sql: 'select * from refresh_items($1)', parameters: [1] },
    { from: 'a.js:5 save', sql: item, parameters: [1] }
  ],
  'a condition with a function that may write': times(2, (): Sent => ({ from: 'a.js:3 load', sql: 'select * from item where touch(id) limit 1' })),
  'a failure on another connection than that of the transaction': [
    begin,
    { from: 'log.js:3 write', sql: 'insert into log (a) values ($1)', parameters: [1], error: 'timeout', connection: 'two' },
    { from: 'a.js:4 run', sql: 'update a set n = 1' },
    rollback
  ],
  'a failure on an unknown connection': [
    begin, { from: 'a.js:4 save', sql: 'insert into b (id) values (1)', error: 'duplicate key', connection: null }, rollback
  ].map((query): Sent => ({ ...query, connection: null })),
  'the same at the database of each tenant': times(6, (i): Sent => ({ from: 'admin.js:3 count', sql: 'select count(*) from users', client: i })),
  'the same at a database and its replica': times(2, (i): Sent => ({ from: `a.js:${i + 3} load`, sql: item, parameters: [1], client: i, together: i > 0 })),
  'a customer at each shard until one has it': times(6, (i): Sent =>
    ({ from: 'shard.js:3 find', sql: 'select * from users where email = $1', parameters: ['ann'], client: i, rows: i === 5 ? 1 : 0 })),
  'a name that is free': times(6, (i): Sent =>
    ({ from: 'slug.js:3 free', sql: 'select 1 from post where slug = $1', parameters: [`title-${i}`], rows: i === 5 ? 0 : 1, row: { id: i } })),
  'a name that is free, by a total': times(6, (i): Sent =>
    ({ from: 'slug.js:3 free', sql: 'select count(*) as n from post where slug = $1', parameters: [`title-${i}`], row: { n: i === 5 ? 0 : 1 } })),
  'calls of one helper on several lines, of which some are resumed': times(7, (i): Sent =>
    ({ ...inLoop(i), from: `db.js:3 load < limit.js:5 run${i < 3 ? ` < orders.js:${30 + i} all` : ''} < a.js:9 async page`, together: i > 0 })),
  'the first translation': times(5, (i): Sent =>
    ({ from: 'text.js:3 find', sql: 'select value from text where locale = $1', parameters: ['abcde'.charAt(i)], rows: i === 4 ? 1 : 0, row: { value: 'x' } })),
  'a list of Redis in which each node has the key of the next one': times(6, (i): Sent =>
    ({ from: 'list.js:3 read', sql: 'GET', parameters: [`node:a${i}`], ...redis, row: JSON.stringify({ name: 'x', next: `a${i + 1}` }) })),
  'a list of Redis in which each value is the key of the next one': times(6, (i): Sent =>
    ({ from: 'list.js:3 read', sql: 'GET', parameters: [`node:a${i}`], ...redis, row: `node:a${i + 1}` })),
  'commands of Redis whose keys the client hides': times(6, (): Sent => ({ from: 'a.js:3 load', sql: 'HGETALL', parameters: ['?'], ...redis })),
  'keys of MGET that the client hides': times(6, (i): Sent =>
    ({ from: 'a.js:3 load', sql: 'MGET', parameters: Array(1 + i % 2).fill('?'), ...redis })),
  'queries without a known line': times(9, (i): Sent => ({ from: '', sql: item, parameters: [i] }))
}

t.test('ordinary code has no findings', async t => {
  for (const [name, sent] of Object.entries(ordinary)) t.same(findings(sent), [], name)
  t.ok(Object.keys(ordinary).length >= 30)
})

const over24 = 'N+1: `select * from item where id = ?` 24 times from src/orders.js:31, 96 ms of 140 ms; the loop runs over the 24 rows of src/orders.js:28'

/** Code with a fault, and the sentences about it. */
const planted: Readonly<Record<string, readonly [sent: readonly Sent[], ...sentences: Array<string | RegExp>]>> = {
  'a loop with await': [[list, ...times(24, inLoop)], over24],
  'map and Promise.all': [[list, ...times(24, (i) => ({ ...inLoop(i), together: i > 0 }))], over24.replace('96 ms of', '4 ms of')],
  'a loop with many columns': [
    times(9, (i): Sent => ({ from: 'a.js:3 load', sql: 'select id, name, price, description, category from item where id = $1', parameters: [i] })),
    'N+1: `select … from item where id = ?` 9 times from src/a.js:3, 36 ms of 140 ms'
  ],
  'a loop with literals': [[list, ...times(24, (i): Sent => ({ from: 'orders.js:31 list', sql: `select * from item where id = ${i}` }))], over24],
  'a loop with texts in the statement': [
    times(6, (i): Sent => ({ from: 'a.js:3 load', sql: `select * from \`item\` where \`name\` = "n${i}"`, system: 'mysql' })),
    /^N\+1: `select \* from `item` where `name` = \?` 6 times/
  ],
  'a loop that takes longer than the request': [times(6, (i) => ({ ...inLoop(i), ms: 40 })), /6 times from src\/orders\.js:31, 240 ms$/],
  'nested loops': [
    times(3, (i): Sent[] => [
      { from: 'a.js:3 load', sql: 'select * from orders where user_id = $1', parameters: [i], rows: 4 },
      ...times(4, (j): Sent => ({ from: 'a.js:5 load', sql: item, parameters: [i * 4 + j] }))
    ]),
    /^N\+1: `select \* from item where id = \?` 12 times from src\/a\.js:5/
  ],
  'two loops of one function': [
    [
      ...times(5, (i): Sent => ({ from: 'a.js:3 load', sql: item, parameters: [i] })),
      ...times(5, (i): Sent => ({ from: 'a.js:6 load', sql: item, parameters: [i] }))
    ],
    /src\/a\.js:3/, /src\/a\.js:6/
  ],
  'a loop that calls a helper for any statement': [
    [
      { ...list, from: 'db.js:3 query < orders.js:28 list' }, ...times(24, (i) => ({ ...inLoop(i), from: 'db.js:3 query < orders.js:31 list' })),
      { from: 'db.js:3 query < orders.js:40 list', sql: 'select * from shop' }
    ],
    over24
  ],
  'a loop over rows of which each has the number of the next one': [
    [
      { ...list, rows: 6, row: times(6, (i) => ({ id: i + 1 })) },
      ...times(6, (i): Sent => ({ ...inLoop(i + 1), row: { id: i + 1, next_id: i + 2 } }))
    ],
    / 6 times from .* the loop runs over the 6 rows of src\/orders\.js:28$/
  ],
  'a loop that calls a helper': [times(6, (i): Sent => ({ from: 'repo.js:4 find < a.js:9 load', sql: item, parameters: [i] })), /6 times from src\/repo\.js:4/],
  'a loop whose later rounds have shorter stacks': [
    times(6, (i): Sent => ({ from: `repo.js:4 find < a.js:9 load${i === 0 ? ' < app.js:3 handler' : ''}`, sql: item, parameters: [i] })),
    /6 times from src\/repo\.js:4/
  ],
  'resolvers of GraphQL': [
    times(8, (i): Sent => ({ from: 'user.js:4 author', sql: 'select * from users where id = $1', parameters: [i], together: i > 0 })), /^N\+1: .* 8 times/
  ],
  'an ORM that loads a relation of each row': [
    times(6, (i): Sent => ({ from: 'a.js:9 load', sql: 'select * from item where id in ($1)', parameters: [i] })),
    /^N\+1: .*in \(\?\)` 6 times/
  ],
  'a relation with a fixed list': [
    times(6, (i): Sent => ({ from: 'a.js:9 load', sql: "select * from item where state in ('a', 'b') and user_id = $1", parameters: [i] })), /^N\+1: .* 6 times/
  ],
  'operations of Prisma': [
    times(6, (i): Sent => ({ from: 'a.js:9 load', sql: 'Item.findUnique', parameters: { where: { id: i } }, system: 'prisma' })),
    /^N\+1: `Item\.findUnique\(\{ where: \{ id: \? \} \}\)` 6 times/
  ],
  'searches of Prisma at the same time': [
    times(6, (i): Sent => ({ from: 'a.js:9 load', sql: 'Item.findFirst', parameters: { where: { id: i } }, system: 'prisma', together: i > 0 })), /^N\+1/
  ],
  'reduce, whose last rounds wait for the first one': [
    times(6, (i) => ({ ...inLoop(i), from: `orders.js:31 load < orders.js:30:40${' < orders.js:30:20 async <anonymous>'.repeat(5 - i)} < a.js:9 page` })),
    /^N\+1: .* 6 times from src\/orders\.js:31, 24 ms of 140 ms$/
  ],
  'reduce over more items than a stack has frames, whose number differs': [
    times(80, (i) =>
      ({ ...inLoop(i), from: `orders.js:31 load < orders.js:30:40${' < orders.js:30:20 async <anonymous>'.repeat(Math.min(79 - i, 57 + i % 2))}` })),
    /^N\+1: .* 80 times from src\/orders\.js:31/
  ],
  'a function that calls itself for the rest of a list': [
    [{ ...list, rows: 6 }, ...times(6, (i) => ({ ...inLoop(i), from: `orders.js:31 next${' < orders.js:33 async next'.repeat(i)} < a.js:9 page` }))],
    /^N\+1: .* 6 times from src\/orders\.js:31, .* over the 6 rows/
  ],
  'a function that calls itself for the rest of a list, and that was called by one that does not wait': [
    [{ ...list, rows: 6 }, ...times(6, (i) => ({
      ...inLoop(i), from: `orders.js:31 next${' < orders.js:33 async next'.repeat(i)}${i === 0 ? ' < orders.js:40 all' : ''} < a.js:9 async page`
    }))],
    /^N\+1: .* 6 times from src\/orders\.js:31, .* over the 6 rows/
  ],
  'a loop in functions that do not wait, whose first rounds have them in their stacks': [
    times(8, (i) => ({ ...inLoop(i), from: `orders.js:31 load < limit.js:5 run${i < 3 ? ' < orders.js:30 all' : ''} < a.js:9 async page` })),
    /^N\+1: .* 8 times from src\/orders\.js:31/
  ],
  'the author of each comment of a tree that one query has read': [
    [{ ...list, rows: 7 }, ...times(7, (i) =>
      ({ ...inLoop(i), from: `orders.js:31 show${' < orders.js:33 async show'.repeat([0, 1, 2, 2, 1, 2, 2][i] ?? 0)}` }))],
    /^N\+1: .* 7 times from src\/orders\.js:31, .* over the 7 rows/
  ],
  'rows that are found or added': [
    times(6, (i): Sent[] => [
      { ...inLoop(i), rows: i < 5 ? 0 : 1 },
      ...i < 5 ? [{ from: 'orders.js:32 list', sql: 'insert into item (id) values ($1)', parameters: [i] }] : []
    ]),
    /^N\+1: .* 6 times from src\/orders\.js:31/
  ],
  'a function that calls itself by another one, deeper than a stack is read': [
    [{ ...list, rows: 40 }, ...times(40, (i) =>
      ({ ...inLoop(i), from: `orders.js:31 next${' < with.js:3 async with < orders.js:33 async next'.repeat(Math.min(i, 29))}` }))],
    /^N\+1: .* 40 times from src\/orders\.js:31, .* over the 40 rows/
  ],
  'a loop in functions that call themselves': [
    times(6, (i) => ({ ...inLoop(i), from: 'orders.js:31 Repo.find < orders.js:40 Repo.find < run.js:3 run < run.js:3 run < a.js:9 page' })),
    /^N\+1: .* 6 times/
  ],
  'a loop in a function whose caller waits for it from the second round on': [
    times(5, (i) => ({ ...inLoop(i), from: `orders.js:31 load < tx.js:9:${i === 0 ? '21 run' : '15 async run'} < a.js:9 async page` })), /^N\+1: .* 5 times/
  ],
  'functions that were resumed, over the rows of a query': [
    [{ ...list, rows: 6 }, ...times(6, (i) => ({ ...inLoop(i), position: i, together: i > 0 }))],
    /^N\+1: .* 6 times from src\/orders\.js:31, .* runs over the 6 rows of src\/orders\.js:28$/
  ],
  'many functions that were resumed': [
    times(24, (i) => ({ ...inLoop(i), position: i, together: i > 0 })), /^N\+1: .* 24 times from src\/orders\.js:31, 4 ms of 140 ms$/
  ],
  'a loop of one function in a list': [times(6, (i) => ({ ...inLoop(i), position: 1 })), /^N\+1: .* 6 times/],
  'a loop over rows that have the identifier of one parent': [
    times(6, (i) => ({ ...inLoop(i), row: { id: i, parent_id: 4 } })), /^N\+1: .* 6 times/
  ],
  'a loop with a fixed alternative': [
    times(6, (i): Sent => ({ from: 'a.js:9 load', sql: "select * from item where owner = $1 and (state = 'a' or shared = 'b')", parameters: [i] })),
    /^N\+1: .* 6 times/
  ],
  'duplicates of two transactions, each': [
    [begin, ...times(2, (): Sent => ({ from: 'a.js:5 user', sql: item, parameters: [1] })), commit],
    /was sent 2 times with the same parameters/
  ],
  'duplicates with functions that only compute': [
    times(2, (i): Sent => ({ from: `a.js:${i + 5} user`, sql: "select count(*), max(price)::numeric(10, 2) from item where lower(name) = 'a'" })),
    /was sent 2 times/
  ],
  'the items of orders whose identifiers are like theirs': [
    times(6, (i): Sent => ({
      from: 'a.js:9 load',
      sql: 'select * from item where order_id = $1',
      parameters: [i + 1],
      rows: 3,
      row: times(3, (j) => ({ id: i * 3 + j + 1, order_id: i + 1, amount: j + 1 }))
    })),
    /^N\+1: .* 6 times/
  ],
  'a loop over rows of one owner, which has the number of a limit': [
    times(6, (i): Sent => ({
      from: 'a.js:9 load', sql: 'item.find', parameters: { filter: { _id: i }, limit: 1 }, ...mongodb, row: [{ _id: i, owner: 1 }], together: i > 0
    })),
    /^N\+1: .* 6 times/
  ],
  'a loop over one of two lists of the same length': [
    [
      { from: 'a.js:3 load', sql: 'select * from orders', rows: 6, row: times(6, (i) => ({ id: i })) },
      { from: 'a.js:4 load', sql: 'select * from tag', rows: 6, row: times(6, (i) => ({ name: `t${i}` })) },
      ...times(6, inLoop)
    ],
    /^N\+1: .* the loop runs over the 6 rows of src\/a\.js:3$/
  ],
  'a loop whose first round found nothing': [
    times(6, (i): Sent => ({ ...inLoop(i), rows: i === 0 ? 0 : 1, row: { id: i } })), /^N\+1: .* 6 times/
  ],
  'a loop of which the last round has one row': [times(6, (i): Sent => ({ ...inLoop(i), rows: i === 5 ? 1 : 3 })), /^N\+1: .* 6 times/],
  'a loop over rows of which the last one has nothing': [
    [{ ...list, rows: 6 }, ...times(6, (i): Sent => ({ ...inLoop(i), rows: i === 5 ? 0 : 1, row: { n: 1 } }))],
    /^N\+1: .* 6 times from .* over the 6 rows/
  ],
  'a loop in parallel of which the last one has nothing': [
    times(6, (i): Sent => ({ ...inLoop(i), rows: i === 5 ? 0 : 1, row: { n: 1 }, together: i > 0 })), /^N\+1: .* 6 times/
  ],
  'few values of many rows, of which some wait for a connection': [
    times(9, (i): Sent => ({ ...inLoop(i % 3), together: i % 3 > 0, pause: i > 0 ? 40 : 1, wait: i > 0 ? 40 : 0 })), /^N\+1: .* 9 times/
  ],
  'duplicates at one of two databases': [
    times(4, (i): Sent => ({ from: `a.js:${i + 3} load`, sql: item, parameters: [i < 2 ? 1 : i], client: i < 2 ? 1 : i })), /was sent 2 times/
  ],
  'a total for each row': [times(6, (i): Sent => ({ from: 'a.js:9 load', sql: 'select count(*) from comment where post_id = $1', parameters: [i] })), /^N\+1/],
  'a check for each row': [
    times(6, (i): Sent => ({ from: 'a.js:9 load', sql: 'select exists (select 1 from item where lower(name) = lower($1))', parameters: [`n${i}`] })),
    /^N\+1/
  ],
  'the last three comments of each post': [
    times(6, (i): Sent => ({
      from: 'a.js:9 load', sql: 'select * from comment where post_id = $1 and id > $2 order by id limit 3', parameters: [i, 0], rows: 3
    })),
    /^N\+1/
  ],
  'the days of each account': [
    times(6, (i): Sent => ({ from: 'a.js:9 load', sql: 'select * from visit where account = $1 and day between $2 and $3', parameters: [i, 1, 9], rows: 3 })),
    /^N\+1/
  ],
  'a total for each month': [
    times(12, (i): Sent => ({ from: 'a.js:9 load', sql: 'select sum(n) from visit where day between $1 and $2', parameters: [i, i + 1] })),
    /^N\+1/
  ],
  'few customers of many orders': [times(24, (i): Sent => ({ ...inLoop(i % 3) })), /^N\+1: .* 24 times/],
  'a loop with hidden parameters': [
    times(6, (i): Sent => ({ from: 'a.js:9 load', sql: 'select * from invite where token = $1', parameters: [`t${i}`] })),
    /^N\+1: .* 6 times/
  ],
  'a loop with binary identifiers': [
    times(6, (i): Sent => ({ from: 'a.js:9 load', sql: 'select * from item where id = ?', parameters: [Buffer.from([i, 1])], system: 'mysql' })),
    /^N\+1: .* 6 times/
  ],
  'a loop that updates what it has read': [
    times(6, (i): Sent[] => [
      { from: 'a.js:9 run', sql: item, parameters: [i] },
      { from: 'a.js:10 run', sql: 'update item set n = 1 where id = $1', parameters: [i] }
    ]),
    /^N\+1: `select \* from item where id = \?` 6 times from src\/a\.js:9/
  ],
  'a loop with a table expression': [
    times(6, (i): Sent => ({ from: 'a.js:9 run', sql: 'with x as (select * from item) select * from x where id = $1', parameters: [i] })),
    /^N\+1/
  ],
  'a loop of SQLite': [
    times(6, (i): Sent => ({ from: 'a.js:9 run', sql: 'select * from item where id = ?', parameters: [i], ...sqlite, ms: 0.1 })),
    /6 times from src\/a\.js:9, 600 µs of 140 ms/
  ],
  'GET of Redis in a loop': [times(6, (i): Sent => ({ from: 'a.js:9 run', sql: 'GET', parameters: [`item:${i}`], ...redis })), /^N\+1: `GET item:\?` 6 times/],
  'HGETALL of Redis in a loop': [
    times(6, (i): Sent => ({ from: 'a.js:9 run', sql: 'HGETALL', parameters: [`item:${i}`], ...redis })),
    /^N\+1: `HGETALL item:\?` 6 times/
  ],
  'fields of hashes of Redis in a loop': [
    times(6, (i): Sent => ({ from: 'a.js:9 run', sql: 'HMGET', parameters: [`user:${i}`, 'name', 'mail'], ...redis, rows: 2 })),
    /^N\+1: `HMGET user:\?` 6 times/
  ],
  'lists of Redis in a loop': [
    times(6, (i): Sent => ({ from: 'a.js:9 run', sql: 'LRANGE', parameters: [`log:${i}`, 0, 9], ...redis, rows: 9 })),
    /^N\+1: `LRANGE log:\?`/
  ],
  'findOne of MongoDB in a loop': [
    times(6, (i): Sent => ({ from: 'a.js:9 run', sql: 'item.findOne', parameters: [{ _id: i }], ...mongodb })),
    /^N\+1: `item\.findOne\(\{ _id: \? \}\)` 6 times/
  ],
  'totals of MongoDB at the same time': [
    times(6, (i): Sent => ({ from: 'a.js:9 run', sql: 'item.countDocuments', parameters: [{ shop: i }], ...mongodb, together: i > 0 })), /^N\+1/
  ],
  'duplicates of two helpers': [
    [{ from: 'auth.js:5 user', sql: item, parameters: [1] }, { from: 'menu.js:9 user', sql: item, parameters: [1] }],
    '`select * from item where id = ?` was sent 2 times with the same parameters, from src/auth.js:5 and src/menu.js:9'
  ],
  'duplicates at the same time': [times(3, (i): Sent => ({ from: 'a.js:5 user', sql: item, parameters: [1], together: i > 0 })), /was sent 3 times/],
  'duplicates of a loop': [times(8, (): Sent => ({ from: 'a.js:5 user', sql: 'select * from rate' })), /was sent 8 times/],
  'duplicates with literals': [times(2, (i): Sent => ({ from: `a.js:${i + 5} user`, sql: "select * from t where a = 'b'" })), /was sent 2 times/],
  'duplicates of Redis': [
    times(2, (i): Sent => ({ from: `a.js:${i + 5} user`, sql: 'GET', parameters: ['settings'], ...redis })),
    '`GET settings` was sent 2 times with the same parameters, from src/a.js:5 and src/a.js:6'
  ],
  'duplicates of MongoDB': [
    times(2, (i): Sent => ({ from: `a.js:${i + 5} user`, sql: 'user.findOne', parameters: [{ _id: 1 }], ...mongodb })),
    /was sent 2 times/
  ],
  'duplicates before and after a write of another database': [
    [
      { from: 'a.js:5 user', sql: item, parameters: [1] },
      { from: 'a.js:6 user', sql: 'INCR', parameters: ['n'], ...redis },
      { from: 'a.js:7 user', sql: item, parameters: [1] }
    ],
    /was sent 2 times/
  ],
  'duplicates with the same hidden parameter': [
    times(2, (i): Sent => ({ from: `a.js:${i + 5} user`, sql: 'select * from s where token = $1', parameters: ['x1'] })),
    /was sent 2 times/
  ],
  'a slow query': [
    [{ from: 'a.js:3 load', sql: 'select * from log where text like $1', parameters: ['%x%'], ms: 120 }],
    '`select * from log where text like ?` took 120 ms, from src/a.js:3'
  ],
  'a transaction that was rolled back': [
    [
      begin,
      { from: 'a.js:3 save', sql: 'update a set n = 1 where id = $1', parameters: [1] },
      { from: 'a.js:4 save', sql: 'insert into b (id) values ($1)', parameters: [1], error: 'duplicate key value' },
      rollback
    ],
    'A transaction of 2 queries was rolled back after `insert into b (id) values (?)` failed, from src/a.js:4: duplicate key value'
  ],
  'a transaction that PostgreSQL rolled back': [
    [begin, { from: 'a.js:4 save', sql: 'delete from b', error: 'not allowed' }, commit],
    /^A transaction of 1 query was rolled back/
  ],
  'a transaction of MongoDB': [
    [
      { from: 'a.js:4 save', sql: 'user.insertOne', parameters: [{ _id: 1 }], error: 'E11000 duplicate key', ...mongodb },
      { from: 'a.js:9 save', sql: 'admin.abortTransaction', ...mongodb }
    ],
    /^A transaction of 1 query was rolled back/
  ],
  'a transaction that failed after a savepoint': [
    [
      begin,
      { from: 'a.js:3 save', sql: 'insert into b (id) values (1)', error: 'duplicate key value' },
      { from: 'a.js:4 save', sql: 'rollback to a' },
      { from: 'a.js:5 save', sql: 'delete from c', error: 'foreign key' },
      rollback
    ],
    /after `delete from c` failed, from src\/a\.js:5: foreign key$/
  ]
}

t.test('each fault is found, and nothing else', async t => {
  for (const [name, [sent, ...sentences]] of Object.entries(planted)) {
    const texts = findings(sent).map(({ text }) => text)
    t.equal(texts.length, sentences.length, `${name}: ${texts.join('; ')}`)
    for (const [i, sentence] of sentences.entries()) {
      if (typeof sentence === 'string') t.equal(texts[i], sentence, name)
      else t.match(texts[i], sentence, name)
    }
  }
  t.ok(Object.keys(planted).length >= 30)
})

t.test('a finding has its kind and the positions of its queries', async t => {
  t.match(findings([list, ...times(5, inLoop)]), [{ kind: 'n+1', queries: [1, 2, 3, 4, 5] }])
  t.match(findings([{ ...list, ms: 30 }], 20), [{ kind: 'slow', queries: [0] }], 'by the option')
  t.same(findings([{ ...list, ms: 19 }], 20), [])
  t.equal(queryPlace({ source: null }), 'an unknown line')
  const counted = (sent: readonly Sent[]): string | undefined => findingsOf(recordedFrom(sent), 140, 100, () => 3)[0]?.text
  t.match(counted(times(5, inLoop)), /` 8 times from .*, at least 20 ms of 140 ms$/, 'with those that are only counted')
  t.match(counted(times(5, () => inLoop(1))), / was sent at least 5 times /)
})

const country = "await db.query('select * from country')"
const currency = "await db.query('select * from currency')"

/** Statements between the calls of two queries; `true`: that nothing decides about the second one is certain. */
const between: ReadonlyArray<readonly [code: string, isCertain: boolean]> = [
  [`const a = ${country}\n  const b = ${currency}`, true],
  [`const a = (${country}).rows;\n  const { rows: [b] } = (${currency})`, true],
  [`let a: Row[] = (${country}) as Row[]\n  // all of them\n  b = ${currency}`, true],
  [`const a = await db.query<{ id: number }>("select * from country where a = 'x'", [])\n  return ${currency}`, true],
  ['await sql`select * from country`; await sql`select * from currency`', true],
  [`const a = ${country}\n  if (a.length === 0) return\n  const b = ${currency}`, false],
  [`const a = ${country}\n  assert(a)\n  const b = ${currency}`, false],
  [`const a = ${country}\n  const b = a && ${currency}`, false],
  [`const a = ${country}\n  const b = a ? ${currency} : []`, false],
  [`const a = ${country} || fail()\n  const b = ${currency}`, false],
  [`for (const a of ${country}) {\n    ${currency}\n  }`, false],
  [`${country}.then(() => ${currency})`, false],
  [`const a = ${country}\n  const b = await db.query(\`select * from \${a.table}\`)`, false],
  [`const a = await db.query(\`select * from \${name}\`)\n  const b = ${currency}`, true]
]

t.test('queries are independent where their source has no decision between them', async t => {
  const file = join(t.testdir(), 'a.ts')
  const at = (code: string, name: string, nth: number): string => {
    const lines = code.slice(0, [...code.matchAll(new RegExp(name, 'g'))][nth]?.index).split('\n')
    return `${file}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`
  }
  const sentFrom = (statement: string, others: Partial<Sent> = {}, helper = ''): Sent[] => {
    const code = `export async function load () {\n  ${statement}\n}\n`
    writeFileSync(file, code)
    const name = code.includes('sql`') ? 'sql' : 'query'
    return ['country', 'currency'].map((table, i) => ({
      from: `${helper}${at(code, name, i)} load`, sql: `select * from ${table}`, ms: (i + 2) * 10, ...others
    }))
  }
  const serial = (sent: readonly Sent[]): string[] => findings(sent).map(({ kind, text }) => `${kind}: ${text}`)
  const found = /^serial: 2 independent queries ran one after another, from .*a\.ts:2(?:, .*a\.ts:\d)?: 50 ms, and at the same time about 30 ms$/
  for (const [statement, isCertain] of between) {
    const texts = serial(sentFrom(statement))
    t.equal(texts.length, isCertain ? 1 : 0, statement)
    if (isCertain) t.match(texts[0], found, statement)
  }
  const [code] = between[0] ?? ['']
  t.match(serial(sentFrom(code, {}, 'db.js:3 query < ')), [found], 'by a helper')
  const unnamed = sentFrom(code).map((query, i): Sent => ({ ...query, from: query.from.replace(' load', '') }))
  t.match(serial(unnamed), [found], 'in a function without a name')
  const totals = sentFrom(code, { parameters: [1] }).map((query, i): Sent => ({ ...query, sql: `select count(*) from t${i} where user_id = $1` }))
  t.match(serial(totals), [found], 'totals with the same values')
  t.same(serial(sentFrom(code, { system: 'sqlite' })), [], 'of a database in the process')
  t.same(serial([begin, ...sentFrom(code), commit]), [], 'in a transaction')
  const withValues = sentFrom(code, { parameters: [1] }).map((query): Sent => ({ ...query, sql: `${query.sql} where id = $1` }))
  t.same(serial(withValues), [], 'with values')
  t.same(serial(sentFrom(code).reverse()), [], 'in a loop')
})

/** Sends a query as a client would, with the stack of the code that calls this function. */
function send (sql: string, parameters?: unknown, { system = 'postgresql', rows = 1, ms = 1, result = undefined as unknown } = {}): Promise<void> {
  const end = recordQuery({ system, statement: sql, parameters })
  return new Promise((resolve) => setTimeout(() => { resolve(end({ rows, result })) }, ms))
}

async function findItem (id: number): Promise<void> {
  await send(item, [id])
}

/** Sends any statement. */
async function anything (sql: string, ...parameters: unknown[]): Promise<void> {
  await send(sql, parameters)
}

const source = readFileSync(import.meta.filename, 'utf8').split('\n')

/** The first line of this file with a text. */
function lineWith (text: string): string {
  return `findings\\.test\\.ts:${source.findIndex((line) => line.includes(text)) + 1}`
}

/** Sends a query when it was resumed. */
async function findLater (id: number): Promise<void> {
  await sleep(1)
  await send(item, [id])
}

/** Sends a query and passes its rows to a callback, as drivers do. */
function sendBack (sql: string, parameters: unknown[], rows: Row[], callback: (rows: Row[]) => void): void {
  send(sql, parameters, { rows: rows.length, result: rows }).then(() => callback(rows), () => {})
}

interface Row { id: number, next_id?: number | null }

/** Rows of which each has the number of the next one. */
function linked (id: number): Row[] {
  return [{ id, next_id: id < 6 ? id + 1 : null }]
}

/** Runs queries between two of its own; the call and its `await` have different places. */
async function transaction (run: () => Promise<string>): Promise<string> {
  const result =
    await run()
  return result
}

/** A table in which each row has the next one as its parent, and one of its own. */
function categories (): Database {
  const database = observe(new DatabaseSync(':memory:'))
  database.exec('create table category (id integer primary key, parent_id integer)')
  for (let id = 1; id <= 6; id++) database.prepare('insert into category values (?, ?)').run(id, id === 6 ? null : id + 1)
  return database
}

async function walk (depth: number): Promise<void> {
  await send('select * from node where owner = $1', [depth + Math.random()])
  if (depth > 0) await Promise.all([walk(depth - 1), walk(depth - 1)])
}

inBothModes('findings of requests have the real lines of their code', async (t, build) => {
  const app = await build((app) => {
    app.get('/loop', async () => {
      await send('select * from orders', [], { rows: 6 })
      for (let i = 0; i < 6; i++) await findItem(i)
      return 'x'
    })
    app.get('/parallel', () => Promise.all([1, 2, 3, 4, 5].map((id) => findItem(id))))
    app.get('/ordinary', async () => {
      await findItem(1)
      await findItem(2)
      await findItem(3)
      await Promise.all([findItem(4), findItem(5), findItem(6)])
      await walk(3)
      return 'x'
    })
    app.get('/listed', async () => {
      await sleep(1)
      await Promise.all([findLater(1), findLater(2), findLater(3), findLater(4), findLater(5)])
      await Promise.allSettled([findLater(11), findLater(12), findLater(13), findLater(14), findLater(15)])
      return 'x'
    })
    app.get('/calls', async () => {
      await sleep(1)
      const calls = [findLater(1), findLater(2), findLater(3), findLater(4), findLater(5)]
      await sleep(20)
      return await Promise.all(calls)
    })
    app.get('/stored', async () => {
      const calls = { a: findLater(1), b: findLater(2), c: findLater(3), d: findLater(4), e: findLater(5) }
      return await Promise.all(Object.values(calls).map(async (call) => { await call }))
    })
    app.get('/pushed', async () => {
      await sleep(1)
      const sent: Array<Promise<void>> = []
      for (const id of [1, 2, 3, 4, 5]) sent.push(findItem(id))
      return await Promise.all(sent)
    })
    app.get('/mapped', async () => {
      await send('select * from orders', [], { rows: 6 })
      return await Promise.all([1, 2, 3, 4, 5, 6].map(findLater))
    })
    app.get('/reduced', async () => await [1, 2, 3, 4, 5].reduce<Promise<number>>(async (before, id) => {
      const sum = await before
      await findItem(id)
      return sum + id
    }, Promise.resolve(0)))
    app.get('/rest', async () => {
      await send('select * from orders', [], { rows: 6 })
      const next = async ([id, ...rest]: number[]): Promise<void> => {
        if (id === undefined) return
        await findItem(id)
        await next(rest)
      }
      await next([1, 2, 3, 4, 5, 6])
      return 'x'
    })
    app.get('/by-helper', async () => {
      for (const id of [1, 2, 3, 4, 5]) await anything('select name from users where id = $1', id)
      return 'x'
    })
    app.get('/written-above', async () => {
      await transaction(async () => {
        const sql = 'select mail from users where id = $1'
        for (const id of [1, 2, 3, 4, 5]) await anything(sql, id)
        return 'x'
      })
      return 'x'
    })
    app.get('/workers', async () => {
      const left = [1, 2, 3, 4, 5, 6, 7, 8, 9]
      const work = async (): Promise<void> => {
        while (left.length > 0) await findItem(Number(left.shift()))
      }
      await Promise.all([work(), work(), work()])
      return 'x'
    })
    app.get('/limited', async () => {
      const waiting: Array<() => void> = []
      const next = (): void => waiting.shift()?.()
      const run = async (id: number): Promise<void> => await new Promise((resolve) => {
        waiting.push(() => { findItem(id).then(resolve, () => {}).finally(() => next()) })
        if (id < 4) next()
      })
      await Promise.all([1, 2, 3, 4, 5, 6, 7].map((id) => run(id)))
      return 'x'
    })
    app.get('/hook-and-handler', {
      preHandler: async () => { await anything('select role from users where id = $1', 7) }
    }, async () => {
      await anything('select role from users where id = $1', 7) // again
      return 'x'
    })
    app.get('/called-back', (_request, reply) => {
      sendBack('select * from orders', [], times(6, (i) => linked(i + 1)), (rows) => {
        const next = (i: number): unknown => i === rows.length
          ? reply.send('x')
          : sendBack(item, [rows[i]?.id], linked(i + 1), () => next(i + 1))
        next(0)
      })
    })
    app.get('/called-by-name', (_request, reply) => {
      const left = [1, 2, 3, 4, 5, 6]
      const next = (): unknown => left.length === 0 ? reply.send('x') : sendBack(item, [left.shift()], [{ id: 1 }], added)
      const added = (): void => { next() }
      next()
    })
    app.get('/without-parameters', async () => {
      await send(item)
      await send(item)
      return 'x'
    })
    app.get('/walked-back', (_request, reply) => {
      const walk = (id: number): void => sendBack(item, [id], linked(id), ([row]) => {
        if (row?.next_id == null) reply.send('x')
        else walk(row.next_id)
      })
      walk(1)
    })
    app.get('/in-transaction', async () => await transaction(async () => {
      for (let i = 0; i < 5; i++) await findItem(i)
      return 'x'
    }))
    app.get('/staff', async () => {
      const all = [1]
      for (const id of all) {
        const rows = [3, 0, 2, 0, 0, 0][id - 1] ?? 0
        await send('select * from employee where manager_id = $1', [id], { rows })
        for (let i = 0; i < rows; i++) all.push(all.length + 1)
      }
      return 'x'
    })
    app.get('/schemas', async () => {
      for (const name of ['a', 'b']) {
        await send(`set search_path to ${name}`)
        await send('select * from item')
      }
      return 'x'
    })
    app.get('/unnamed', async () => await Promise.all([1, 2, 3, 4, 5].map(async (id) => { await findLater(id) })))
    const [one, two] = [categories(), categories()]
    app.get('/parents', async () => {
      one.prepare('select id from category order by id desc').all()
      for (let id: unknown = 1; id !== null;) id = Object(one.prepare('select * from category where id = ?').get(id as number)).parent_id
      return 'x'
    })
    app.get('/recorded-parents', async () => {
      for (let id = 1; id < 7; id++) await send(item, [id], { result: { id, parent: id + 1 } })
      return 'x'
    })
    app.get<{ Querystring: { failing: string } }>('/rollback', async ({ query: { failing } }) => {
      one.exec('begin')
      one.exec('update category set parent_id = 1 where id = 6')
      try {
        (failing === 'one' ? one : two).exec('insert into category values (1, 1)')
      } catch {
        one.exec('rollback')
      }
      return 'x'
    })
    app.get('/serial', async () => {
      await send('select * from country', undefined, { ms: 15 })
      await send('select * from currency', undefined, { ms: 15 })
      return 'x'
    })
    app.get('/hook', {
      preHandler: async () => { await send('select * from country', undefined, { ms: 15 }) }
    }, async () => {
      await send('select * from currency', undefined, { ms: 15 })
      return 'x'
    })
    const tenants = [categories(), categories(), categories(), categories(), categories()]
    app.get('/tenants', () => tenants.map((tenant) => tenant.prepare('select count(*) from category where id > ?').get(2)))
  }, { profiler: { slowQuery: 60_000 } })
  const findingsAt = async (path: string): Promise<Array<{ kind: string, text: string }>> =>
    (Object((await profileOf(app, await app.inject(path))).collectors.queries) as { findings: Array<{ kind: string, text: string }> }).findings
  const line = String.raw`packages/hindsight/test/parts/queries/findings\.test\.ts:\d+`

  const [loop, ...others] = await findingsAt('/loop')
  t.same(others, [])
  t.match(loop, { kind: 'n+1', text: new RegExp(String.raw`^N\+1: .* 6 times from ${line}, .* the loop runs over the 6 rows of ${line}$`) })
  t.match(await findingsAt('/parallel'), [{ kind: 'n+1', text: / 5 times from / }])
  t.same(await findingsAt('/ordinary'), [])
  t.same(await findingsAt('/listed'), [])
  t.same(await findingsAt('/calls'), [])
  t.same(await findingsAt('/stored'), [], 'promises that were made elsewhere')
  t.match(await findingsAt('/pushed'), [{ kind: 'n+1', text: / 5 times from / }])
  t.match(await findingsAt('/mapped'), [{ kind: 'n+1', text: / 6 times from .* the loop runs over the 6 rows of / }])
  t.match(await findingsAt('/reduced'), [{ kind: 'n+1', text: / 5 times from / }])
  t.match(await findingsAt('/rest'), [{ kind: 'n+1', text: / 6 times from .* the loop runs over the 6 rows of / }])
  const [helper] = await findingsAt('/by-helper')
  t.match(helper?.text, new RegExp(` 5 times from .*${lineWith('for (const id of [1, 2, 3, 4, 5]) await anything')}, `))
  const [above] = await findingsAt('/written-above')
  t.match(above, { kind: 'n+1', text: new RegExp(` 5 times from .*${lineWith('const end = recordQuery({ system, statement: sql')}, `) })
  t.match(await findingsAt('/workers'), [{ kind: 'n+1', text: / 9 times from / }])
  t.match(await findingsAt('/limited'), [{ kind: 'n+1', text: / 7 times from / }])
  const [again] = await findingsAt('/hook-and-handler')
  t.match(again?.text, new RegExp(`from .*${lineWith('preHandler: async () => { await anything')} and .*${lineWith('// again')}$`))
  t.match(await findingsAt('/called-back'), [{ kind: 'n+1', text: / 6 times from .* the loop runs over the 6 rows of / }])
  t.match(await findingsAt('/called-by-name'), [{ kind: 'n+1', text: / 6 times from / }])
  t.same(await findingsAt('/walked-back'), [])
  t.same(await findingsAt('/without-parameters'), [], 'whether they are the same is unknown')
  t.match(await findingsAt('/in-transaction'), [{ kind: 'n+1', text: / 5 times from / }])
  t.same(await findingsAt('/staff'), [])
  t.same(await findingsAt('/schemas'), [])
  t.match(await findingsAt('/unnamed'), [{ kind: 'n+1', text: / 5 times from / }])
  t.same(await findingsAt('/parents'), [])
  t.same(await findingsAt('/recorded-parents'), [])
  t.match(await findingsAt('/rollback?failing=one'), [{ kind: 'rolled back', text: /^A transaction of 2 queries was rolled back after `insert into category/ }])
  t.same(await findingsAt('/rollback?failing=two'), [])
  t.match(await findingsAt('/serial'), [{ kind: 'serial', text: new RegExp(`^2 independent queries ran one after another, from ${line}, ${line}: `) }])
  t.same(await findingsAt('/hook'), [])
  t.same(await findingsAt('/tenants'), [])
})

inBothModes('profiler.slowQuery sets from when a query is slow', async (t, build) => {
  for (const [slowQuery, kinds] of [[0, ['slow']], [60_000, []], [undefined, []]] as const) {
    const app = await build((app) => { app.get('/', () => findItem(1)) }, { profiler: slowQuery === undefined ? {} : { slowQuery } })
    const { findings } = (await profileOf(app, await app.inject('/'))).collectors.queries as { findings: Array<{ kind: string }> }
    t.same(findings.map(({ kind }) => kind), kinds, String(slowQuery))
    const { profiles } = await app.hindsight.profiler.search(readSearch({ issues: 'yes' }))
    t.equal(profiles.length, kinds.length, 'it is found by issues:yes')
  }
})

inBothModes('hidden, binary and changed parameters are different ones, and a query of an ORM is counted once', async (t, build) => {
  const app = await build((app) => {
    app.get('/', async () => {
      for (let i = 0; i < 5; i++) await send('select * from invite where token = $1', [`secret-${i}`])
      const id = Buffer.alloc(2)
      for (id[0] = 0; id[0] < 5; id[0]++) await send('select * from item where id = ?', [id], { system: 'mysql' })
      for (const id of [1, 2]) {
        const query = beginQuery({ system: 'postgresql', statement: 'select * from t where id = ?', parameters: [id], isOuter: true })
        await callAsync(query, () => send('select * from t where id = $1', [id], { rows: 7 }), () => undefined)
      }
      return 'x'
    })
  })
  const profile = await profileOf(app, await app.inject('/'))
  t.notMatch(JSON.stringify(profile), /secret-\d/)
  const { count, queries, groups } = profile.collectors.queries as { count: number, queries: RecordedQuery[], groups: QueryGroup[] }
  t.match(groups, [{ kind: 'n+1', count: 5, distinct: 5 }, { kind: 'n+1', count: 5, distinct: 5 }, { kind: null, count: 2, distinct: 2 }])
  t.equal(count, 12)
  t.match(queries.slice(10), [{ statement: 'select * from t where id = ?', rows: 7 }, { rows: 7 }])
})
