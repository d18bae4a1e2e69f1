import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import t from 'tap'
import { transactionFindings } from '../../../src/parts/queries/transactions.js'
import { observe } from '../../../src/queries/observe.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { queriesOf, type Database } from './database.js'
import { recordedFrom, type Sent } from './sent.js'

const begin: Sent = { from: 'a.js:1', sql: 'begin', connection: 1 }
const update: Sent = { from: 'a.js:2', sql: 'update stock set count = count - $1 where id = $2', connection: 1 }
const commit: Sent = { from: 'a.js:4', sql: 'COMMIT;', connection: 1 }
const read: Sent = { from: 'a.js:3', sql: 'select count from "stock" where id = $1', connection: 2 }
const outside = '`select count from "stock" where id = ?` from src/a.js:3 was sent outside of the transaction that began at src/a.js:1 and had changed stock'
const leftOpen = 'The transaction that began at src/a.js:1 was neither committed nor rolled back before the response was sent'

function sentences (sent: readonly Sent[], responseEnd = 10_000, isWhole = true): string[] {
  return transactionFindings(recordedFrom(sent), responseEnd, isWhole).found.map(({ text }) => text)
}

t.test('a query outside of an open transaction that has changed its table is named', async t => {
  t.same(sentences([begin, update, read, commit]), [outside])
  t.same(sentences([begin, update, read, read, commit]), [outside], 'one sentence for all of a line')
  t.same(sentences([begin, update, { ...read, connection: 0 }, commit]), [outside], 'by its pool')
  for (const [name, sent] of Object.entries<Sent[]>({
    'on the same connection': [begin, update, { ...read, connection: 1 }, commit],
    'on an unknown connection': [begin, update, { from: 'a.js:3', sql: read.sql }, commit],
    'of another table': [begin, update, { ...read, sql: 'select * from shop' }, commit],
    'of a table expression': [begin, update, { ...read, sql: 'with stock as (select 1) select * from stock' }, commit],
    'before the change': [begin, read, update, commit],
    'at the same time as the change': [begin, update, { ...read, together: true }, commit],
    'after the end': [begin, update, commit, read],
    'after a change of no row': [begin, { ...update, rows: 0 }, read, commit],
    'after a change that failed': [begin, { ...update, error: 'duplicate' }, read, { ...commit, sql: 'rollback' }],
    'in another database': [begin, update, { ...read, client: 3, connection: 4 }, commit],
    'in a transaction of its connection': [begin, update, { ...begin, connection: 2 }, read, { ...commit, connection: 2 }, commit],
    'without a transaction': [update, read],
    'in a transaction of which the pool sent the beginning': [{ ...begin, connection: 0 }, { ...update, connection: 0 }, read]
  })) t.same(sentences(sent), [], name)
})

t.test('a transaction without an end before the response is named', async t => {
  t.same(sentences([begin, update]), [leftOpen])
  t.same(sentences([begin, { ...commit, sql: 'rollback to savepoint a' }]), [leftOpen])
  t.same(sentences([begin, { ...update, error: 'duplicate' }]), [leftOpen], 'PostgreSQL waits for its rollback')
  t.same(sentences([begin, { ...update, pause: 20_000 }, commit]), [leftOpen], 'it ended after the response')
  for (const end of ['commit', 'END', 'rollback', 'rollback work', 'abort']) t.same(sentences([begin, { ...commit, sql: end }]), [], end)
  t.same(sentences([{ ...begin, sql: 'begin; delete from stock; commit' }]), [])
  t.same(sentences([{ ...begin, system: 'mysql' }, { ...commit, system: 'mysql', sql: 'create table a (id int)' }]), [], 'MySQL commits it')
  t.same(sentences([{ ...begin, system: 'sqlite' }, { ...update, system: 'sqlite', error: 'disk is full' }]), [], 'the error may have ended it')
  t.same(sentences([{ ...begin, error: 'no connection' }]), [])
  t.same(sentences([begin], 0), [], 'the response has not ended')
  t.same(sentences([begin], 10_000, false), [], 'further queries were only counted')
})

t.test('a pool without a free connection is named', async t => {
  const waiting: Sent = { from: 'a.js:3', sql: 'select 1', wait: 30, exhausted: 2 }
  t.same(sentences([{ from: 'a.js:2', sql: 'select 1', wait: 9 }, waiting, { ...waiting, wait: 40 }]), [
    'All 2 connections of the pool were in use: 2 queries waited up to 40 ms for one, the first from src/a.js:3'
  ])
  t.same(sentences([{ ...waiting, exhausted: 1 }]), [
    'The one connection of the pool was in use: 1 query waited up to 30 ms for one, the first from src/a.js:3'
  ])
})

/** Lines of this file by the comment at their end. */
const lineOf = (mark: string): number =>
  readFileSync(import.meta.filename, 'utf8').split('\n').findIndex((line) => line.endsWith(`// ${mark}`)) + 1

inBothProducts('transactions of a request, over two connections to a file', async (t, build) => {
  const file = join(t.testdir(), 'stock.db')
  const [first, second] = [0, 1].map(() => observe(new DatabaseSync(file))) as [Database, Database]
  first.exec('pragma journal_mode = wal; create table stock (id integer, count integer); create table shop (id integer); insert into stock values (1, 10)')
  const server = createServer((_request, response) => response.end('{}')).listen(0)
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const database of [first, second]) database.close()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mail/1`
  const count = (database: Database): unknown => database.prepare('select count from stock where id = ?').get(1) // read
  async function change (read: () => unknown): Promise<unknown> {
    first.exec('begin') // begin
    first.prepare('update stock set count = count - 1 where id = ?').run(1)
    const result = await read()
    first.exec('commit')
    return result
  }
  const app = await build((app) => {
    app.get('/outside', async () => await change(() => count(second)))
    app.get('/inside', async () => await change(() => count(first)))
    app.get('/other', async () => await change(() => second.prepare('select * from shop').all()))
    app.get('/call', async () => await change(async () => await (await fetch(address)).json())) // call
    app.get('/forgotten', async () => {
      first.exec('begin immediate') // forgotten
      return 'x'
    })
    app.get('/afterwards', async () => first.exec('rollback'))
  })
  for (const [url, ...expected] of [
    ['/outside', `sent outside of the transaction that began at .*transactions\\.test\\.ts:${lineOf('begin')} and had changed stock`],
    ['/inside'],
    ['/other'],
    ['/call'],
    ['/forgotten', `The transaction that began at .*transactions\\.test\\.ts:${lineOf('forgotten')} was neither committed nor rolled back`],
    ['/afterwards']
  ] as const) {
    const response = await app.inject(url)
    const profile = await profileOf(app, response)
    const texts = queriesOf(profile).findings.map(({ text }) => text)
    t.equal(texts.length, expected.length, `${url} ${texts.join()}`)
    for (const text of expected) t.match(texts[0], new RegExp(text))
    if (url === '/outside') t.match(texts[0], `transactions.test.ts:${lineOf('read')} was sent`)
    const { body } = await app.inject(`/_profiler/${String(response.headers['x-debug-token'])}.md`)
    const call = `GET ${address.replace(/1$/, ':id')} from .*transactions\\.test\\.ts:${lineOf('call')} was sent while the transaction that ` +
      `began at .*transactions\\.test\\.ts:${lineOf('begin')} was open`
    if (url === '/call') t.match(body, new RegExp(call))
    else t.notMatch(body, /was sent while/)
  }
})
