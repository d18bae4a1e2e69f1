import t from 'tap'
import { createMask } from '../../../src/mask/mask.js'
import { queryReader } from '../../../src/parts/queries/mask-query.js'
import { shapeOf, shortShape } from '../../../src/parts/queries/sql.js'
import { tokensOf } from '../../../src/parts/queries/tokens.js'
import { growthOf } from '../../support/cpu-time.js'

const read = queryReader(createMask([/^vault_/]))

function maskQuery (system: string, sql: string, given: unknown): { statement: string, parameters: unknown } {
  const { statement, parameters } = read(system, sql, given)
  return { statement, parameters }
}

const shapes: ReadonlyArray<readonly [system: string, statement: string, shape: string]> = [
  ['postgresql', 'SELECT * FROM item\n WHERE id = 5;', 'SELECT * FROM item WHERE id = ?'],
  ['postgresql', 'select * from item where id = $1 -- of the order', 'select * from item where id = ?'],
  ['postgresql', '/* route: orders */ select 1', 'select ?'],
  ['postgresql', "select 'it''s', 'C:\\', E'it\\'s', U&'x', $$a 'b$$, $tag$ $$ $tag$ from t", 'select ?, ?, ?, ?, ?, ? from t'],
  ['postgresql', 'select "a""b", "c?d" from "T" where x = ?', 'select "a""b", "c?d" from "T" where x = ?'],
  ['postgresql', 'select * from t where id in (1, 2, 3)', 'select * from t where id in (?)'],
  ['postgresql', 'select * from t where id in ($1,$2)', 'select * from t where id in (?)'],
  ['postgresql', "insert into t values (1, 'a'), (2, 'b')", 'insert into t values (?)'],
  ['postgresql', 'insert into t values ($1, now(), null), ($2, now(), $3)', 'insert into t values (?, now(), ?)'],
  ['postgresql', 'select * from t where a = -5 and b - 5 > +1.5e3', 'select * from t where a = ? and b - ? > ?'],
  ['postgresql', "select a->>'x', b#>>'{a,b}' from t where c @> '{}' and d ?| array['a','b'] and e ? 'k'",
    "select a->>'x', b#>>'{a,b}' from t where c @> ? and d ?| array[?] and e ? ?"],
  ['postgresql', 'select x::text, a[1:2] from t where y = :id::int', 'select x::text, a[?:?] from t where y = ?::int'],
  ['postgresql', 'select interval \'1 day\' from t limit 5 offset 10', 'select interval ? from t limit ? offset ?'],
  ['mysql', 'select `a`, "text", \'it\\\'s\' from `t` # comment', 'select `a`, ?, ? from `t`'],
  ['mysql', 'select @total := 5, 0x1f, 1--1 from t where id = ?', 'select @total := ?, ?, ?-? from t where id = ?'],
  ['mysql', 'insert into t (id, name, price$eur) values (default, $1, $price);', 'insert into t (id, name, price$eur) values (?)'],
  ['postgresql', 'select $tag$ $x $tag$ from t where id = $id', 'select ? from t where id = ?'],
  ['sqlite', 'select [a b] from t where a = @id and b = $name and c = ?2', 'select [a b] from t where a = ? and b = ? and c = ?'],
  ['sqlite', "select '%' || ?||'%', col1 from t2", 'select ? || ?||?, col1 from t2'],
  ['microsoft.sql_server', 'select top (5) * from [order] where id = @id', 'select top (?) * from [order] where id = ?'],
  ['sqlite', '', ''],
  ['sqlite', "'", '?']
]

t.test('a shape has neither values nor comments', async t => {
  for (const [system, statement, shape] of shapes) t.equal(shapeOf(system, statement), shape, statement)
})

t.test('tokens are the statement, for each dialect', async t => {
  for (const [system, statement] of shapes) t.equal(tokensOf(statement, system).map(({ text }) => text).join(''), statement)
  t.match(tokensOf('x'.repeat(30_000), '').at(-1), { kind: 'comment', text: '…' }, 'the rest of a very long one is left out')
})

t.test('commands have the pattern of their key, operations the fields of their documents', async t => {
  for (const [system, statement, parameters, shape] of [
    ['redis', 'get', ['user:42'], 'GET user:?'],
    ['redis', 'GET user:42', undefined, 'GET user:?'],
    ['redis', 'HGETALL', ['user:42:cart'], 'HGETALL user:?:cart'],
    ['redis', 'GET', ['user:alice'], 'GET user:?'],
    ['redis', 'GET', ['settings'], 'GET settings'],
    ['redis', 'MGET', [['a:1', 'b:2']], 'MGET [?]'],
    ['redis', 'SELECT', [3], 'SELECT ?'],
    ['redis', 'PING', [], 'PING'],
    ['mongodb', 'item.findOne', [{ _id: 5, tags: { $in: [1, 2] } }, { limit: 1 }], 'item.findOne({ _id: ?, tags: { $in: [?] } }, { limit: ? })'],
    ['mongodb', 'item.find', { find: 'item', filter: { a: new Date(0) } }, 'item.find({ find: ?, filter: { a: ? } })'],
    ['mongodb', 'item.countDocuments', [{}], 'item.countDocuments({})'],
    ['mongodb', 'item.drop', undefined, 'item.drop'],
    ['prisma', 'Item.findMany', { where: { id: 1 } }, 'Item.findMany({ where: { id: ? } })']
  ] as const) t.equal(shapeOf(system, statement, parameters), shape, `${statement} ${JSON.stringify(parameters)}`)
})

t.test('a sentence has a short shape', async t => {
  t.equal(shortShape('select id, name, price, description from item where id = ?'), 'select … from item where id = ?')
  t.equal(shortShape('select a, (select max(b) from c), length(d), e, f from item'), 'select … from item')
  t.equal(shortShape('select * from item where id = ?'), 'select * from item where id = ?')
  t.equal(shortShape(`delete from t where ${'a = ? or '.repeat(50)}`).length, 200)
  t.equal(shapeOf('sqlite', `select ${'a, '.repeat(1_000)}b`).length, 1_000)
})

const bcrypt = 'crypt-hash'
/** Values that must be hidden and values that must stay, of statements and parameters. */
const secrets: ReadonlyArray<readonly [system: string, statement: string, parameters: unknown, hidden: readonly string[], kept: readonly string[]]> = [
  // INSERT
  ['postgresql', 'insert into users (email, password) values ($1, $2)', ['ann@b.test', 'hunter2'], ['hunter2'], []],
  ['postgresql', 'insert into users (password, email) values ($2, $1)', ['ann@b.test', 'hunter2'], ['hunter2'], []],
  ['postgresql', 'INSERT INTO "users" ("email", "passwordHash") VALUES ($1, $2), ($3, $4)', ['ann', bcrypt, 'bob', 'other'], [bcrypt, 'other'], []],
  ['postgresql', "insert into users (email, password) values ('ann', 'hunter2'), ('bob', 'hunter3') returning id", [], ['hunter2', 'hunter3'], []],
  ['postgresql', "insert into users (email, password) values ($1, crypt($2, gen_salt('bf'))), ($3, $4)",
    ['ann', 'hunter2', 'bob', 'x7'], ['hunter2', 'x7'], []],
  ['postgresql', 'insert into auth.users as u (email, api_key, age) values (lower($1), coalesce($2, $3), $4)',
    ['ann', 'k1', 'k2', 41], ['k1', 'k2'], ['41']],
  ['postgresql', 'insert into t (note, token) select $1, $2 from s where id = $3', ['note', 'hunter2', 77], ['hunter2'], ['note', '77']],
  ['postgresql', 'insert into t (name, pin) values ($1, 1234)', ['ann'], ['1234'], []],
  ['mysql', 'insert into `users` (`email`, `password`) values ("ann", "it\\"s hunter2"), (\'bob\', \'hunter\\\'3\')', undefined, ['hunter'], []],
  ['mysql', "insert into users set email = 'ann', password = 'hunter2', age = 41", undefined, ['hunter2'], ['41']],
  ['mysql', "INSERT INTO `users` SET `email` = 'ann', `password` = 'hunter2' ON DUPLICATE KEY UPDATE `password` = 'hunter3', `n` = 41", undefined,
    ['hunter2', 'hunter3'], ['41']],
  ['mysql', "replace into users (email, pwd) values ('ann', 'hunter2')", undefined, ['hunter2'], []],
  ['mysql', 'insert ignore into users (id, secret) values (?, ?), (?, ?)', [11, 'hunter2', 12, 'hunter3'], ['hunter2', 'hunter3'], ['11', '12']],
  ['mysql', "insert into users (email, password) value ('ann', 'hunter2')", undefined, ['hunter2'], []],
  ['sqlite', 'insert or replace into users (email, password) values (?, ?)', ['ann', 'hunter2'], ['hunter2'], []],
  ['sqlite', 'insert into users values (?, ?)', ['ann', 'bob'], [], ['ann', 'bob']],
  ['sqlite', 'insert into api_tokens values (?)', ['hunter2'], ['hunter2'], []],
  ['sqlite', 'insert into t (key, value) values (?, ?)', ['smtp_password', 'hunter2'], ['hunter2'], []],
  ['sqlite', 'insert into t (key, value) values (?, ?)', ['color', 'blue'], [], ['color', 'blue']],
  // UPDATE
  ['postgresql', 'update users set name = $1, password = $2, age = $3 where id = $4', ['ann', 'hunter2', 41, 77], ['hunter2'], ['41', '77']],
  ['postgresql', 'update "users" as "u" set "refresh_token" = $1 where "u"."id" = $2', ['hunter2', 77], ['hunter2'], ['77']],
  ['postgresql', 'update users set (email, note) = ($1, $2) where token = $3', ['ann', 'note', 'hunter2'], ['hunter2'], []],
  ['postgresql', 'update users set password = case when $1 then $2 else password end, name = $3', [true, 'hunter2', 'ann'], ['hunter2'], []],
  ['postgresql', "update settings set value = $1 where key = 'smtp_password'", ['hunter2'], ['hunter2'], []],
  ['mysql', "update users set password = sha2('hunter2', 256), name = 'ann' where id = 77", undefined, ['hunter2'], ['77']],
  ['mysql', "update t set data = json_set(data, '$.password', ?), name = ?", ['hunter2', 'ann'], ['hunter2'], []],
  ['postgresql', "update t set data = jsonb_set(data, '{login,password}', $1), name = $2", ['"hunter2"', 'ann'], ['hunter2'], []],
  // Upserts
  ['postgresql', 'insert into s (id, n) values ($1, $2) on conflict (id) do update set n = $3, token = $4 where s.n < $5', [11, 12, 13, 'hunter2', 15],
    ['hunter2'], ['11', '12', '13', '15']],
  ['postgresql', 'merge into u using (select $1 as id) s on u.id = s.id when matched then update set password = $2 ' +
    'when not matched then insert (id, password) values ($3, $4)', [11, 'hunter2', 12, 'hunter3'], ['hunter2', 'hunter3'], ['12']],
  // WHERE
  ['postgresql', 'select * from users where email = $1 and password = $2 limit $3', ['ann', 'hunter2', 77], ['hunter2'], ['77']],
  ['postgresql', 'select * from users u where u.password <> $1 and u.email != $2', ['hunter2', 'ann'], ['hunter2'], []],
  ['postgresql', 'select * from users where "u"."password"=$1 or "u"."email"=$2', ['hunter2', 'ann'], ['hunter2'], []],
  ['postgresql', 'select * from users where $1 = token and $2 = email', ['hunter2', 'ann'], ['hunter2'], []],
  ['postgresql', 'select * from users where lower(token) = lower($1) and lower(email) = lower($2)', ['hunter2', 'ann'], ['hunter2'], []],
  ['postgresql', 'select * from users where password = crypt($1, password) and email = $2', ['hunter2', 'ann'], ['hunter2'], []],
  ['postgresql', 'select crypt($1, $2), $3 as name', ['hunter2', 'salt1', 'ann'], ['hunter2', 'salt1'], []],
  ['postgresql', 'select * from keys where api_key in ($1, $2) and id in ($3, $4)', ['k1', 'k2', 77, 78], ['k1', 'k2'], ['77', '78']],
  ['postgresql', 'select * from keys where api_key not in (\'k1\', \'k2\') and n in (77, 78)', [], ['k1', 'k2'], ['77', '78']],
  ['postgresql', 'select * from keys where api_key = any($1) and id = any($2)', [['k1', 'k2'], [77, 78]], ['k1', 'k2'], ['77', '78']],
  ['postgresql', "select * from t where token like 'abc%' and name ilike '%ann%'", [], ['abc'], []],
  ['postgresql', 'select * from t where pin between $1 and $2 and age between $3 and $4', [1111, 2222, 33, 44], ['1111', '2222'], ['33', '44']],
  ['postgresql', 'select * from t where (name = $1 or (token = $2 and age = $3)) and n = $4', ['ann', 'hunter2', 41, 77], ['hunter2'], ['41', '77']],
  ['postgresql', 'select * from t where token is not null and id = $1', [77], [], ['77']],
  ['postgresql', 'select token, password from t where id = $1 order by token limit $2', [77, 78], [], ['77', '78']],
  ['postgresql', 'select * from tokens where id = $1', [77], [], ['77']],
  ['postgresql', 'select * from tokens t join users u on u.id = $1 and t.secret = $2', [77, 'hunter2'], ['hunter2'], ['77']],
  ['postgresql', 'select * from u where token = (select token from t where id = $1 limit $2) and n = $3', [77, 78, 79], [], ['77', '78', '79']],
  ['postgresql', 'select * from u where password = (select crypt($1, $2)) and n = $3', ['hunter2', 'salt1', 79], ['hunter2', 'salt1'], ['79']],
  ['postgresql', "select * from t where data->>'password' = $1 and data->>'name' = $2", ['hunter2', 'ann'], ['hunter2'], ["'password'"]],
  ['postgresql', "select * from t where data->'login'->>'pin' = '1234' and data ? 'password' and id = $1", [77], ['1234'], ['77', "'login'"]],
  ['postgresql', "select * from t where data @> jsonb_build_object('token', $1::text) and id = $2", ['hunter2', 77], ['hunter2'], ['77']],
  ['postgresql', 'select * from t where "accessToken" = $1::text and "createdAt" > now() - $2::interval', ['hunter2', '5 days'], ['hunter2'], []],
  ['mysql', 'select * from `users` where `users`.`password` = \'hunter2\' and `users`.`name` = "ann"', undefined, ['hunter2'], []],
  ['mysql', "select * from t where json_extract(data, '$.token') = 'hunter2' and id = 77", undefined, ['hunter2'], ['77']],
  ['sqlite', "select * from t where path = 'C:\\' and password = 'hunter2'", undefined, ['hunter2'], []],
  ['postgresql', "select * from t where path = 'C:\\' and password = 'hunter2'", [], ['hunter2'], []],
  ['microsoft.sql_server', 'select * from [users] where [password] = @p1 and [name] = @p2', { p1: 'hunter2', p2: 'ann' }, ['hunter2'], []],
  ['microsoft.sql_server', "exec login @name = 'ann', @password = 'hunter2'", undefined, ['hunter2'], []],
  // Named parameters
  ['sqlite', 'select * from t where token = :t and id = :id', { t: 'hunter2', id: 77 }, ['hunter2'], ['77']],
  ['sqlite', 'select * from t where token = $t and id = $id', { $t: 'hunter2', $id: 77 }, ['hunter2'], ['77']],
  ['sqlite', 'update t set a = @password, b = @name', { '@password': 'hunter2', name: 'ann' }, ['hunter2'], []],
  ['sqlite', 'update t set a = @a where token = @t', [{ a: 'ann', t: 'hunter2' }], ['hunter2'], []],
  ['sqlite', 'select * from t where a = ?2 and token = ?1', ['hunter2', 'ann'], ['hunter2'], []],
  ['sqlite', 'select * from t where a = :a and token = :b and c = :a and d = ?', ['ann', 'hunter2', 'bob'], ['hunter2'], []],
  ['mysql', 'select @n := ?, name from t where token = ? and id = ?', [41, 'hunter2', 77], ['hunter2'], ['41', '77']],
  // Definitions and sessions
  ['postgresql', "create role ann with login password 'hunter2'", undefined, ['hunter2'], ['ann']],
  ['mysql', "create user 'ann'@'%' identified by 'hunter2'", undefined, ['hunter2'], ['create user']],
  ['mysql', "set password for 'ann' = 'hunter2'", undefined, ['hunter2'], []],
  ['postgresql', 'create table t (id int, password varchar(255) not null)', undefined, [], []],
  ['postgresql', "set local app.access_token = 'hunter2'", undefined, ['hunter2'], []],
  ['postgresql', "select set_config('app.access_token', $1, true)", ['hunter2'], ['hunter2'], []],
  // Values of their own
  ['postgresql', 'update t set url = $1', ['postgres://ann:hunter2@db/x'], ['hunter2'], ['ann']],
  ['postgresql', 'insert into t (data) values ($1)', [{ name: 'ann', login: { password: 'hunter2' } }], ['hunter2'], ['ann']],
  ['postgresql', 'insert into t (data) values ($1)', ['{"name":"ann","password":"hunter2"}'], ['hunter2'], []],
  ['postgresql', 'select 1 /* password=hunter2 */', undefined, ['hunter2'], ['select 1']],
  ['postgresql', 'select * from t where vault_key = $1', ['hunter2'], ['hunter2'], []],
  ['postgresql', 'update t set max_tokens = $1, token_expires_at = $2, "primaryKey" = $3', [512, '2026-01-01', 'k1'], [], []],
  ['postgresql', 'update t set token = $1, session = $2', [null, true], [], ['null', 'true']],
  ['postgresql', 'select 1; update t set token = $1; select * from t where id = $2', ['hunter2', 77], ['hunter2'], ['77']],
  // Redis
  ['redis', 'AUTH', ['hunter2'], ['hunter2'], []],
  ['redis', 'auth', ['ann', 'hunter2'], ['hunter2'], []],
  ['redis', 'HELLO', ['3', 'AUTH', 'ann', 'hunter2', 'SETNAME', 'web'], ['hunter2'], []],
  ['redis', 'CONFIG', ['SET', 'requirepass', 'hunter2', 'maxmemory', '77'], ['hunter2'], ['77']],
  ['redis', 'CONFIG SET', ['masterauth', 'hunter2'], ['hunter2'], []],
  ['redis', 'ACL', ['SETUSER', 'ann', 'on', '>hunter2', '~cache:*', '+@read'], ['hunter2'], []],
  ['redis', 'SET', ['api_token:77', 'hunter2', 'EX', 60], ['hunter2'], ['api_token', '60']],
  ['redis', 'SET', ['user:77', 'ann', 'EX', 60], [], ['user:77', 'ann', '60']],
  ['redis', 'SETEX', ['session:77', 3600, 'hunter2'], ['hunter2'], []],
  ['redis', 'MSET', ['a', 'ann', 'token:77', 'hunter2'], ['hunter2'], ['ann']],
  ['redis', 'HSET', ['user:77', 'name', 'ann', 'password', 'hunter2'], ['hunter2'], ['ann']],
  ['redis', 'HSET', ['session:77', 'user', 'hunter2'], ['hunter2'], ['session:']],
  ['redis', 'GET', ['session:0f3a9c7d5e1b48aa'], ['0f3a9c7d5e1b48aa'], ['session:']],
  ['redis', 'GET', ['shop:sess:0f3a9c7d5e1b48aa'], ['0f3a9c7d5e1b48aa'], ['shop:sess:']],
  ['redis', 'SET session:0f3a9c7d5e1b48aa hunter2 EX 60', undefined, ['0f3a9c7d5e1b48aa', 'hunter2'], ['60']],
  ['redis', 'SET', ['cache:user', '{"name":"ann","token":"hunter2"}'], ['hunter2'], ['ann']],
  ['redis', 'GET', { key: 'a', password: 'hunter2' }, ['hunter2'], ['key']],
  // MongoDB and ORMs
  ['mongodb', 'users.insertOne', [{ name: 'ann', login: { password: 'hunter2' } }], ['hunter2'], ['ann']],
  ['mongodb', 'users.updateOne', [{ _id: 77 }, { $set: { 'login.password': 'hunter2', name: 'ann' } }], ['hunter2'], ['77', 'ann']],
  ['mongodb', 'users.find', { find: 'users', filter: { token: { $in: ['k1', 'k2'] }, pin: { $gt: 1234 }, age: { $lt: 41 } } }, ['k1', 'k2', '1234'], ['41']],
  ['mongodb', 'users.find', [{ $or: [{ email: 'ann' }, { password: { $regex: 'hunter2' } }] }], ['hunter2'], ['ann']],
  ['mongodb', 'users.find', [{ $expr: { $eq: ['$pin', 1234] }, n: 41 }], ['1234'], ['41']],
  ['mongodb', 'users.insertMany', [[{ name: 'ann', tokens: [{ value: 'hunter2' }] }]], ['hunter2'], ['ann']],
  ['postgresql', 'User.create', { data: { name: 'ann', password: 'hunter2' } }, ['hunter2'], ['ann']]
]

t.test('a value with a secret name is masked', async t => {
  for (const [system, statement, parameters, hidden, kept] of secrets) {
    const shown = maskQuery(system, statement, parameters)
    const text = `${shown.statement} ${JSON.stringify(shown.parameters)}`
    for (const value of hidden) t.notOk(text.includes(value), `${statement}: ${text} hides ${value}`)
    for (const value of kept) t.ok(text.includes(value), `${statement}: ${text} keeps ${value}`)
    t.notOk(hidden.some((value) => shapeOf(system, shown.statement, shown.parameters).includes(value)))
  }
  t.ok(secrets.length >= 60)
})

t.test('what is masked stays a statement with as many parameters', async t => {
  t.same(maskQuery('mysql', "update t set password = 'a', pin = 12, name = 'b' where id = ?", [1]),
    { statement: "update t set password = '******', pin = 12, name = '******' where id = ?", parameters: [1] })
  t.same(maskQuery('postgresql', 'update t set token = $1, data = $2', ['a', Buffer.alloc(5)]),
    { statement: 'update t set token = $1, data = $2', parameters: ['******', '******'] })
  t.same(maskQuery('postgresql', 'select 1', undefined), { statement: 'select 1', parameters: undefined })
})

t.test('a statement of any characters is read in linear time: with an expression that goes back, these take minutes', async t => {
  const parts = ["'", '"', '`', '(', ')', '[', '?', '?|', '$a$', '/*', '--', 'case when ', 'values (', '(1),', 'in (1, ', '(select ', 'a.', ' - ', '\\', "E'\\",
    ':a ', '@a=', 'token = ? ', 'token1 ? ', 'json(', 'and ', ' ', '0x', '1_', '1.', '{', 'insert into a (b, ', ';']
  for (const part of parts) {
    // A number makes names differ.
    const statement = Array.from({ length: Math.ceil(10_000 / part.length) }, (_, i) => part.replace('1', String(i))).join('')
    for (const system of ['postgresql', 'mysql', 'sqlite', 'redis', 'mongodb']) {
      const shown = maskQuery(system, `select ${statement}`, [statement])
      t.ok(shortShape(shapeOf(system, shown.statement, shown.parameters)).length <= 200, `${part} of ${system}`)
    }
  }
})

t.test('a statement of the double length takes at most the double time', async t => {
  for (const system of ['postgresql', 'mysql', 'sqlite', 'redis', 'mongodb']) {
    const run = (text: string): unknown => {
      const shown = maskQuery(system, `select token ${text}`, [text])
      return shortShape(shapeOf(system, shown.statement, shown.parameters))
    }
    for (const piece of [' ', '; ', "'", '"', '(', 'values (', '[a ', '$a$', '/*', 'a.', "E'\\", 'identified ', 'sess:', '> ? ', 'update ']) {
      t.ok(growthOf(run, piece, 8_000) <= 3.2, `${JSON.stringify(piece)} of ${system}`)
    }
  }
})
