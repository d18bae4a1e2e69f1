import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'
import { JSDOM } from 'jsdom'
import t, { type Test } from 'tap'
import { observe, recordQuery } from '../../../src/queries.js'
import { findLibrary } from '../../../src/store/sqlite/availability.js'
import { build as buildService, profileOf } from '../../support/app.js'
import { htmlChecker } from '../../support/html-checker.js'
import { inBothProducts } from '../../support/products.js'
import { parseHtml } from '../../support/parse-html.js'

const { DatabaseSync } = createRequire(import.meta.url)(findLibrary() as string) as typeof import('@photostructure/sqlite')
const html = { accept: 'text/html', 'sec-fetch-dest': 'document' }
const json = { accept: 'application/json' }

function shop (t: Test) {
  const database = observe(new DatabaseSync(':memory:'))
  t.teardown(() => database.close())
  database.exec('create table item (id integer primary key, owner text, token text); create index item_owner on item (owner)')
  const queries = [
    () => database.prepare('select * from item where id = ?').all(1),
    () => database.prepare('select * from item where owner = :owner').all({ owner: 'ada' }),
    () => database.prepare('select * from item -- all\n;').all(),
    () => database.prepare('select * from item where token = ?').all('abc'),
    () => database.prepare('insert into item (owner) values (?)').run('ada'),
    () => database.prepare('select changes() from item').all(),
    () => { recordQuery({ system: 'postgresql', statement: 'select 1' })({ rows: 1 }) }
  ]
  const rows = (): number => Number(database.prepare('select count(*) as count from item').get()?.count)
  return { rows, declare: (app: FastifyInstance) => app.get('/items', async () => { for (const query of queries) query(); return 'done' }) }
}

const check = htmlChecker({ 'prefer-native-element': 'off', 'aria-label-misuse': 'off' })

async function panelOf (t: Test, app: FastifyInstance, token: string): Promise<JSDOM> {
  const { body } = await app.inject({ url: `/_profiler/${token}?panel=queries`, headers: html })
  t.same(await check(body), [])
  return new JSDOM(body)
}

async function send (app: FastifyInstance, token: string, fields: Record<string, string>, headers: Record<string, string> = json) {
  const payload = new URLSearchParams(fields).toString()
  const all = { 'content-type': 'application/x-www-form-urlencoded', ...headers }
  return await app.inject({ method: 'POST', url: `/_profiler/${token}/plan`, headers: all, payload })
}

inBothProducts('a button shows the plan of a query, or why there is none', async (t, build) => {
  const { declare, rows } = shop(t)
  const app = await build(declare)
  const { token } = await profileOf(app, await app.inject('/items'))
  const { document } = (await panelOf(t, app, token)).window
  const form = document.querySelector<HTMLFormElement>(`form[action="/_profiler/${token}/plan"]`)
  const formToken = form?.querySelector<HTMLInputElement>('[name=form_token]')?.value ?? ''
  const buttons = [...form?.querySelectorAll<HTMLButtonElement>('button[name=query]') ?? []]
  t.same(buttons.map(({ value, textContent }) => [value, textContent]).sort(), ['1', '2', '3', '4', '6', '7'].map((value) => [value, 'Explain plan']))

  const plan = async (query: string): Promise<unknown> => {
    const { plan, sentence } = (await send(app, token, { form_token: formToken, query })).json() as Record<string, unknown>
    return [plan, sentence]
  }
  t.same(await plan('1'), ['SEARCH item USING INTEGER PRIMARY KEY (rowid=?)', 'The plan has no sequential scan.'])
  t.same(await plan('2'), ['SEARCH item USING INDEX item_owner (owner=?)', 'The plan has no sequential scan.'])
  t.same(await plan('3'), ['SCAN item', 'The plan reads all rows of `item` (sequential scan): that is right for a small table, or where most rows ' +
    'match; otherwise an index on the columns of the condition is missing.'])
  t.same(await plan('4'), [null, 'There is no plan: a parameter is masked.'])
  const before = rows()
  t.same(await plan('5'), [null, 'There is no plan: it is no SELECT.'])
  t.equal(rows(), before)
  t.same(await plan('6'), [null, 'There is no plan: it calls `changes()`, and Hindsight does not know whether that has an effect.'])
  t.match(await plan('7'), [null, 'There is no plan: no client of this process can run a statement for it.'])

  const page = await send(app, token, { form_token: formToken, query: '3' }, html)
  t.same(await check(page.body), [])
  const shown = parseHtml(page.body)
  t.match(shown.querySelector('main')?.textContent, /select \* from item[^]*SCAN item[^]*reads all rows of item/)
  t.equal(shown.querySelector('main a')?.getAttribute('href'), `/_profiler/${token}?panel=queries#query-3`)
})

inBothProducts('only a form of the profiler, for a query of the profile', async (t, build, product) => {
  const { declare } = shop(t)
  const app = await build(declare)
  const { token } = await profileOf(app, await app.inject('/items'))
  t.match((await send(app, token, { query: '1' })).json(), { status: 403, detail: /not from a page of the profiler|The form/ })
  const { document } = (await panelOf(t, app, token)).window
  const formToken = document.querySelector<HTMLInputElement>('.panel [name=form_token]')?.value ?? ''
  for (const query of ['0', '8', 'x', '']) {
    const response = await send(app, token, { form_token: formToken, query })
    t.match([response.statusCode, response.body], [400, /Invalid \\"query\\": the profile has the queries 1 to 7/], query)
  }
  t.equal((await send(app, 'ffffff', { form_token: formToken, query: '1' })).statusCode, 404)
  t.equal((await app.inject({ url: `/_profiler/${token}/plan`, headers: json })).statusCode, product === 'service' ? 405 : 404, 'no GET')
  t.equal((await send(app, token, { form_token: formToken, query: '1' }, { ...json, 'sec-fetch-site': 'cross-site' })).statusCode, 403)
})

t.test('in production there are no plans, not even for operators', async (t) => {
  const { declare } = shop(t)
  const app = await buildService(t, {
    debug: false,
    profiler: { production: true },
    profilerRole: 'ROLE_OPERATOR',
    security: {
      firewalls: [{ name: 'main', authenticators: { basic: true } }],
      providers: { users: async (identifier: string) => ({ identifier, password: 'x', roles: ['ROLE_OPERATOR'] }) },
      hasher: { verify: async () => true, hash: async () => 'x' }
    } as never,
    declare
  })
  const headers = { authorization: `Basic ${Buffer.from('op:op').toString('base64')}` }
  await app.inject({ url: '/items', headers })
  await app.hindsight.profiler.flush()
  const token = String((await app.hindsight.profiler.latest())?.token)
  const { statusCode, body } = await app.inject({ url: `/_profiler/${token}?panel=queries`, headers: { ...headers, ...html } })
  t.equal(statusCode, 200)
  t.match(body, /from.*item/)
  t.notMatch(body, /Explain plan/)
  t.equal((await app.inject({ method: 'POST', url: `/_profiler/${token}/plan`, headers })).statusCode, 404)
})
