import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { DatabaseSync } from '@photostructure/sqlite'
import t from 'tap'
import { clientSubscribers } from '../../src/parts/queries/channels.js'
import { QUERY_CHANNEL } from '../../src/queries/channel.js'
import { observe } from '../../src/queries/observe.js'
import type { Query } from '../../src/queries/query.js'
import { compare, type Program } from './compare.js'

function open (): InstanceType<typeof DatabaseSync> {
  const database = new DatabaseSync(':memory:')
  database.exec('create table item (id integer primary key, name text)')
  for (const name of ['one', 'two', 'three']) database.prepare('insert into item (name) values (?)').run(name)
  return database
}

const system = 'sqlite'

const STORE: Program<Pick<InstanceType<typeof DatabaseSync>, 'createTagStore'>> = {
  name: 'a store of statements for templates',
  run (database, note) {
    const store = database.createTagStore()
    note(store.all`select id from item where id < ${3}`, store.get`select name from item where id = ${2}`)
    note(store.run`update item set name = ${'x'} where id = ${2}`, [...store.iterate`select name from item where id > ${1}`])
    for (const fail of [() => store.get`select a from nowhere`, () => store.iterate`select b from nowhere`]) {
      try {
        fail()
      } catch (error) { note(String(error)) }
    }
  },
  queries: [
    { statement: 'select id from item where id < ?', parameters: [3], rows: 2 }, { parameters: [2], rows: 1 },
    { statement: 'update item set name = ? where id = ?', parameters: ['x', 2], rows: 1 }, { parameters: [1], rows: 2 },
    { statement: 'select a from nowhere', error: { message: /no such table/ } }, { statement: 'select b from nowhere', error: { message: /no such table/ } }
  ]
}

t.test('node:sqlite and @photostructure/sqlite', async (t) => await compare(t, open, (database) => database.close(), [
  {
    name: 'the methods of a statement, with values and with named ones',
    run (database, note) {
      const byId = database.prepare('select name from item where id > ?')
      note(byId.all(1), byId.get(3), byId.get(9))
      note(database.prepare('select name from item where id = $id').get({ $id: 2 }))
      return database.prepare('update item set name = ?').run('x')
    },
    queries: [
      { system, statement: 'select name from item where id > ?', parameters: [1], rows: 2 },
      { system, statement: 'select name from item where id > ?', parameters: [3], rows: 0 },
      { system, statement: 'select name from item where id > ?', parameters: [9], rows: 0 },
      { system, parameters: { $id: 2 }, rows: 1 },
      { system, statement: 'update item set name = ?', rows: 3 }
    ]
  },
  {
    name: 'iterators, to their end and to a break',
    run (database, note) {
      const all = database.prepare('select id from item')
      for (const row of all.iterate()) note(row)
      const [first] = all.iterate()
      note(first)
    },
    queries: [{ rows: 3 }, { rows: 1 }]
  },
  STORE,
  {
    name: 'wrong statements, and values that are refused',
    run (database, note) {
      for (const fail of [
        () => database.prepare('select a from nowhere'),
        () => database.exec('no sql'),
        () => database.prepare('insert into item (id) values (?)').run(1),
        () => database.prepare('select ?').get(Symbol('x') as never),
        () => (database.prepare as (...args: unknown[]) => unknown)()
      ]) {
        try {
          fail()
        } catch (error) {
          note(error)
        }
      }
    },
    queries: [
      { statement: 'select a from nowhere', error: { message: /no such table/ } },
      { statement: 'no sql', error: Error },
      { statement: 'insert into item (id) values (?)', parameters: [1], error: { message: /UNIQUE constraint failed/ } },
      { statement: 'select ?', error: Error }
    ]
  },
  {
    name: 'the error of a function of the application has the same stack',
    run (database) {
      database.function('fail', () => { throw new RangeError('mine') })
      return database.prepare('select fail()').get()
    },
    queries: [{ error: { message: 'mine' } }]
  },
  {
    name: 'how the objects look',
    run (database, note) {
      const statement = database.prepare('select 1')
      note(database, statement, Object.keys(database), Object.keys(statement), database.constructor, statement.constructor)
      note(database instanceof DatabaseSync, statement.all, statement.all.name, statement.all.length, database.prepare.length)
      note(statement.sourceSQL, statement.expandedSQL, Object.assign({}, database), { ...statement })
      for (const property in database) note(property)
    },
    queries: []
  },
  {
    name: 'a transaction',
    run (database, note) {
      database.exec('begin')
      database.prepare('delete from item').run()
      database.exec('rollback')
      note(database.prepare('select count(*) as n from item').get())
    },
    queries: [{ statement: 'begin' }, { statement: 'delete from item', rows: 3 }, { statement: 'rollback' }, { rows: 1 }]
  },
  {
    name: 'methods without their object',
    run (database) {
      const { prepare } = database
      return prepare.call({} as never, 'select 1')
    },
    queries: [{ statement: 'select 1', error: Error }]
  }
]))

/** The database as node:sqlite has it: its store prepares statements without a method of the database. */
function native () {
  const database = open()
  const { prepare, exec, function: define } = database
  return { prepare, exec, function: define, createTagStore: database.createTagStore.bind(database) }
}

t.test('the store of node:sqlite', async (t) => await compare(t, native, () => {}, [STORE]))

const CHANNEL = 'sqlite.db.query'

/** A database of node:sqlite where Node.js publishes its queries; else one that publishes a list as that does. */
function publishing (): Pick<InstanceType<typeof DatabaseSync>, 'exec' | 'prepare' | 'close'> {
  const module = process.getBuiltinModule('node:sqlite') as { DatabaseSync: typeof DatabaseSync } | undefined
  let isPublished = false
  const note = (): void => { isPublished = true }
  subscribe(CHANNEL, note)
  const database = module === undefined ? open() : new module.DatabaseSync(':memory:')
  database.exec('create table if not exists item (id integer primary key, name text); delete from item')
  unsubscribe(CHANNEL, note)
  if (isPublished) return database
  const publish = (sql: string): void => channel(CHANNEL).publish({ sql, database, duration: 2_000_000 })
  const define = database.function
  return {
    close: () => database.close(),
    exec (sql: string) {
      database.exec(sql)
      publish(sql)
    },
    prepare (sql: string) {
      const iterator = database.prepare(sql).iterate()
      const next = (): unknown => {
        const step = iterator.next()
        if (step.done === true) publish(sql)
        return step
      }
      return { iterate: () => ({ next, [Symbol.iterator] () { return this } }) }
    },
    function: define
  } as never
}

t.test('what node:sqlite publishes has its time in milliseconds, and is recorded once', (t) => {
  const recorded: Query[] = []
  const record = (query: unknown): void => { recorded.push(query as Query) }
  const subscriber = clientSubscribers(record).subscribers.find(([name]) => name === CHANNEL)?.[1]
  const listener = (message: unknown): void => subscriber?.(message as Record<string, unknown>)
  const fill = 'with recursive c (x) as (select 1 union all select x + 1 from c limit 30000) insert into item (id) select x from c'
  const list = 'select id from item limit 5'
  const database = publishing()
  subscribe(CHANNEL, listener)
  subscribe(QUERY_CHANNEL, record)
  t.teardown(() => {
    unsubscribe(CHANNEL, listener)
    unsubscribe(QUERY_CHANNEL, record)
    database.close()
  })
  const start = performance.now()
  database.exec(fill)
  const [query] = recorded as [Query]
  t.match(query, { system: 'sqlite', statement: fill })
  // SQLite counts whole milliseconds.
  t.ok(query.startedAt >= start - 2, `${query.startedAt - start} ms after its beginning`)
  t.ok(Number(query.endedAt) > query.startedAt)
  observe(database)
  const rows = [...database.prepare(list).iterate()]
  t.equal(rows.length, 5)
  t.match(recorded.slice(1), [{ statement: list, rows: 5 }])
  t.equal(recorded.length, 2)
  t.end()
})
