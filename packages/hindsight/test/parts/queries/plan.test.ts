import { mock } from 'node:test'
import t from 'tap'
import { explainStatement, readPlan, planProblem } from '../../../src/parts/queries/plan.js'

const SYSTEMS = ['postgresql', 'mysql', 'sqlite']

const READ_DIFFERENTLY = /read in different ways/

/** Statements that may write or lock, or of which that is not certain, with the system if it is one only; and the reason. */
const HOSTILE: ReadonlyArray<[statement: string, reason: RegExp, system?: string]> = [
  ['insert into item values (1)', /no SELECT/],
  ['update item set a = 1', /no SELECT/],
  ['delete from item', /no SELECT/],
  ['pragma user_version = 3', /no SELECT/, 'sqlite'],
  ['explain analyze delete from item', /no SELECT/],
  ['analyze select 1', /no SELECT/],
  ['call f()', /no SELECT/],
  ['do $$ begin delete from item; end $$', READ_DIFFERENTLY, 'postgresql'],
  ['execute plan', /no SELECT/],
  ['(select 1)', /no SELECT/],
  ['values (1)', /no SELECT/],
  ['table item', /no SELECT/],
  ['', /no SELECT/],
  ['"select" 1', /no SELECT/],
  ['with x as (values (1)) table x', /no SELECT/],
  ['with x as (insert into item values (1) returning id) select * from x', /`insert`/],
  ['WITH x AS (DELETE FROM item RETURNING *) SELECT * FROM x', /`delete`/],
  ['with x as (update item set a = 1 returning *) select * from x', /`update`/],
  ['with x as (select 1) insert into item select * from x', /`insert`/],
  ['with x as (select 1) delete from item', /`delete`/],
  ['with x as (select 1) merge into item using x on true when matched then do nothing', /`merge`/],
  ['with x as (select 1) replace into item select * from x', /`replace`/, 'mysql'],
  ['select * into copy from item', /`into`/],
  ["select * from item into outfile '/tmp/x'", /`into`/, 'mysql'],
  ['select 1 into @a', READ_DIFFERENTLY, 'mysql'],
  ['select * from item for update', /`update`/],
  ['select * from item for share', /`share`/],
  ['select * from item for no key update', /`update`/],
  ['select * from item for key share', /`share`/],
  ['select * from item FOR\n/* a */ UPDATE skip locked', /`update`/],
  ['select * from item lock in share mode', /`lock`/, 'mysql'],
  ['select * from item procedure analyse()', /`procedure`/, 'mysql'],
  ["select nextval('item_id_seq')", /`nextval`/],
  ['select next value for item_seq', /sequence/, 'mysql'],
  ['select item_seq.nextval', /`nextval`/, 'mysql'],
  ["select setval('item_id_seq', 1)", /calls `setval\(\)`/],
  ['select pg_sleep(10)', /calls `pg_sleep\(\)`/],
  ['select pg_catalog.pg_terminate_backend(1)', /calls `pg_terminate_backend\(\)`/],
  ['select PG_ADVISORY_LOCK (1)', /calls `PG_ADVISORY_LOCK\(\)`/],
  ['select "pg_sleep"(10)', /calls `"pg_sleep"\(\)`/],
  ['select pg_sleep/* a */(10)', /calls `pg_sleep\(\)`/],
  ['select pg_sleep--\n(10)', /calls `pg_sleep\(\)`|different ways/],
  ["select dblink('host=other', 'delete from item')", /calls `dblink\(\)`/],
  ["select lo_import('/etc/passwd')", /calls `lo_import\(\)`/],
  ["select set_config('role', 'admin', false)", /calls `set_config\(\)`/],
  ["select query_to_xml('delete from item', true, true, '')", /calls `query_to_xml\(\)`/],
  ['select count(*), own_function(1) from item', /calls `own_function\(\)`/],
  ['select a[1:own_function(2)] from item', /calls `own_function\(\)`/, 'postgresql'],
  ['select public.lower(a) from item', /calls `lower\(\)`/],
  ['select * from own_rows(1) as t (a)', /calls `own_rows\(\)`/],
  ["select load_extension('x')", /calls `load_extension\(\)`/, 'sqlite'],
  ["select get_lock('a', 10)", /calls `get_lock\(\)`/, 'mysql'],
  ['select sleep(10)', /calls `sleep\(\)`/, 'mysql'],
  ['select @a := 1', READ_DIFFERENTLY, 'mysql'],
  ['select a := 1', READ_DIFFERENTLY, 'mysql'],
  ['select 1; delete from item', /several/],
  ['select 1;;', /several/],
  ['select 1; -- \n delete from item', /several/],
  ['select 1 /*! ; delete from item */', READ_DIFFERENTLY, 'mysql'],
  ['select 1 /*!50000 into outfile "x" */', READ_DIFFERENTLY, 'mysql'],
  ['select 1 /*M! into outfile "x" */', READ_DIFFERENTLY, 'mysql'],
  ["select 1 /* /* */ ' */ ; delete from item --'", READ_DIFFERENTLY],
  ['select 1 /* ', READ_DIFFERENTLY],
  ['select 1 --1', READ_DIFFERENTLY, 'mysql'],
  ["select 1 # ' \n ; delete from item -- '", READ_DIFFERENTLY, 'mysql'],
  ["select '\\' ; delete from item; --'", READ_DIFFERENTLY],
  ["select E'\\'' ; delete from item; --'", READ_DIFFERENTLY],
  ['select "\\" ; delete from item; --"', READ_DIFFERENTLY],
  ["select 'a'' ; delete from item", READ_DIFFERENTLY],
  ["select $a1$ ' $a1$ ; delete from item --'", READ_DIFFERENTLY, 'postgresql'],
  ['select $$ ; delete from item $$', /different ways|several/],
  ["select [ ' ] ; delete from item -- '", READ_DIFFERENTLY, 'sqlite'],
  ['select lower\u00a0(a) from item', READ_DIFFERENTLY],
  ['select lower\u{1f642}(a) from item', READ_DIFFERENTLY],
  ['select 1\0; delete from item', READ_DIFFERENTLY]
]

/** Statements that only read. */
const HARMLESS = [
  'select * from item where order_id = 1',
  'SELECT "a", b FROM item WHERE a = \'it\'\'s\' ORDER BY a LIMIT 10 OFFSET 20;',
  'select count(*) from item',
  'select i.a, coalesce(o.b, 0) from item i left join orders o on (o.id = i.order_id) where i.a in (1, 2)',
  'with recent as (select * from item order by id desc limit 5) select * from recent',
  'with recursive tree (id, depth) as (select id, 0 from item union all select i.id, depth + 1 from item i join tree on true) select * from tree',
  'select a from item group by a having sum(b) > 3 and not exists (select 1 from orders)',
  'select cast(a as varchar(20)), b::numeric(10,2) from item',
  'select a, row_number() over (partition by b order by c) from item',
  "select replace(a, 'x', 'y') from item",
  'select substring(a from 1 for 3) from item',
  'select a /* route=/orders */ from item -- by orders',
  'select pg_catalog.lower(a) from item',
  'select distinct on (a) a, b from item',
  'select a from item where a = any($1)',
  "select data ->> 'a', data #> '{a,b}' from item",
  'select a from (values (1), (2)) as v (a)',
  'select ":not", \'; delete\', "x;y" from item'
]

t.ok(HOSTILE.length >= 40)
for (const [statement, reason, system] of HOSTILE) {
  for (const one of system === undefined ? SYSTEMS : [system]) t.match(planProblem({ system: one, statement }), reason, `${one}: ${JSON.stringify(statement)}`)
}

for (const statement of HARMLESS) t.equal(planProblem({ system: 'postgresql', statement }), null, statement)
t.equal(planProblem({ system: 'sqlite', statement: 'select `a`, [b] from item where a = $a and b = :b and c = @c and d = ?1' }), null)
t.equal(planProblem({ system: 'mysql', statement: 'select `a` from item where match (a) against (?) and b = ?' }), null)

t.test('a query is not explained if the profile does not have all of it', async (t) => {
  const system = 'sqlite'
  t.equal(planProblem({ system, statement: "select 1 from item where token = '******'" }), 'a value of the statement is masked')
  t.equal(planProblem({ system, statement: 'select 1 from item where token = ?', parameters: ['******'] }), 'a parameter is masked')
  t.equal(planProblem({ system, statement: 'select 1 from item where token = :token', parameters: { token: 'Bearer ******' } }), 'a parameter is masked')
  const cut = 'the profile does not have the whole statement with its parameters'
  t.equal(planProblem({ system, statement: 'select 1 … (5 more characters)' }), cut)
  t.equal(planProblem({ system, statement: 'select ?', parameters: ['aaa… (1,000 more characters)'] }), cut)
  t.equal(planProblem({ system, statement: 'select ?', parameters: ['[binary, 3 bytes]'] }), cut)
  t.equal(planProblem({ system: 'redis', statement: 'GET' }), 'Hindsight explains queries of PostgreSQL, MySQL and SQLite, not of redis')
})

t.test('only a statement that may be explained is run, in a read-only transaction with a time limit', async (t) => {
  const statement = 'select * from item where id = $1 -- all; of it\n;'
  const calls: unknown[] = []
  const run = async (statements: readonly string[]): Promise<unknown[]> => {
    calls.push(statements)
    return [{ 'QUERY PLAN': 'Index Scan using item_pkey on item' }]
  }
  t.same(await explainStatement({ system: 'postgresql', statement, parameters: [7] }, run), {
    plan: 'Index Scan using item_pkey on item', sentence: 'The plan has no sequential scan.'
  })
  await explainStatement({ system: 'mysql', statement: 'select * from item' }, run)
  await explainStatement({ system: 'sqlite', statement: 'select * from item where id = :id', parameters: { id: 1 } }, run)
  t.same(calls, [
    ['begin', 'set transaction read only', 'set local statement_timeout = 2000', 'explain select * from item where id = 7'],
    ['start transaction read only', '/*M! set statement max_statement_time = 2 for */ explain select /*+ max_execution_time(2000) */ * from item'],
    ['explain query plan select * from item where id = 1']
  ])
  const values = ["' or 1 = 1; delete from item --", "\\'; delete from item --"]
  const commented = { system: 'postgresql', statement: 'select * from item where id = $1 /* ? */', parameters: values.slice(0, 1) }
  t.match(await explainStatement(commented, run), { plan: String })
  t.same(calls.splice(3), [[
    'begin', 'set transaction read only', 'set local statement_timeout = 2000', "explain select * from item where id = ''' or 1 = 1; delete from item --'"
  ]])
  for (const system of SYSTEMS) {
    const statement = `select * from item where id = ${system === 'postgresql' ? '$1' : '?'}`
    t.match(await explainStatement({ system, statement, parameters: values.slice(1) }, run), { plan: null, sentence: READ_DIFFERENTLY }, system)
  }
  for (const [statement, , system = 'postgresql'] of HOSTILE) t.equal((await explainStatement({ system, statement }, run)).plan, null)
  t.equal(calls.length, 3)
  const sentence = /^There is no plan: no client of this process/
  t.match(await explainStatement({ system: 'postgresql', statement: 'select 1' }, undefined), { plan: null, sentence })
  const failing = async (): Promise<never> => { throw new Error('canceling statement due to statement timeout') }
  t.same(await explainStatement({ system: 'postgresql', statement: 'select 1' }, failing), {
    plan: null, sentence: 'There is no plan: the database refused: canceling statement due to statement timeout.'
  })
})

t.test('a database that does not answer is not awaited', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const answer = explainStatement({ system: 'postgresql', statement: 'select 1' }, () => new Promise(() => {}))
  mock.timers.tick(3_000)
  const { plan, sentence } = await answer
  t.same([plan, sentence], [null, 'There is no plan: the database refused: no answer within 3 seconds.'])
})

t.test('plans are read', async (t) => {
  t.same(readPlan([{ 'QUERY PLAN': 'Hash Join  (cost=1)' }, { 'QUERY PLAN': '  ->  Parallel Seq Scan on public.item i  (cost=0)' }]), {
    lines: ['Hash Join  (cost=1)', '  ->  Parallel Seq Scan on public.item i  (cost=0)'], scans: ['public.item']
  })
  const sqlite = [
    { id: 2, parent: 0, notused: 0, detail: 'CO-ROUTINE (subquery-1)' },
    { id: 5, parent: 2, notused: 0, detail: 'SCAN item' },
    { id: 20, parent: 0, notused: 0, detail: 'SCAN (subquery-1)' },
    { id: 21, parent: 0, notused: 0, detail: 'SCAN tag USING COVERING INDEX tag_name' },
    { id: 22, parent: 0, notused: 0, detail: 'SEARCH orders USING INTEGER PRIMARY KEY (rowid=?)' },
    { id: 23, parent: 0, notused: 0, detail: 'SCAN 2 CONSTANT ROWS' }
  ]
  const { lines, scans } = readPlan(sqlite)
  t.same([lines.slice(0, 3), scans], [['CO-ROUTINE (subquery-1)', '  SCAN item', 'SCAN (subquery-1)'], ['item']])
  const mysql = [
    { id: 1, select_type: 'SIMPLE', table: 'item', type: 'ALL', key: null, rows: 1000, Extra: 'Using where' },
    { id: 1, select_type: 'SIMPLE', table: 'o', type: 'ref', key: 'by_item', rows: 2, Extra: null },
    { id: 1, select_type: 'PRIMARY', table: '<derived2>', type: 'ALL', key: null, rows: 2, Extra: null }
  ]
  t.same(readPlan(mysql), {
    lines: [
      'item: access ALL, key none, about 1000 rows; Using where', 'o: access ref, key by_item, about 2 rows', '<derived2>: access ALL, key none, about 2 rows'
    ],
    scans: ['item']
  })
  t.same(readPlan([{ EXPLAIN: '-> Filter: (a = 1)\n    -> Table scan on item  (cost=0.35 rows=1)\n' }]).scans, ['item'])
  t.same(readPlan([]), { lines: [], scans: [] })
})
