import { JSDOM } from 'jsdom'
import t from 'tap'
import { compareProfiles } from '../../../src/reading/compare/compare.js'
import { successOf } from '../../../src/reading/compare/last-success.js'
import { profileMarkdown } from '../../support/marks.js'
import { editorLink } from '../../../src/view/editor.js'
import { recordQuery } from '../../../src/queries/observe.js'
import { overview } from '../../../src/parts/overview/index.js'
import { timeline as timelinePart } from '../../../src/parts/timeline/index.js'
import { queries } from '../../../src/parts/queries/index.js'
import { problemsOf } from '../../../src/parts/read.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { profile } from '../fixture.js'
import { HOSTILE } from '../hostile.js'
import { markup, shown, texts } from '../support.js'
import { declareArticles, queriesOf } from './database.js'
import { parseHtml } from '../../support/parse-html.js'

const html = { accept: 'text/html' }

inBothProducts('the panel shows what is remarkable, and the queries by statement with their runs', async (t, build) => {
  const app = await build(declareArticles)
  const stored = await profileOf(app, await app.inject('/articles'))
  const { findings: [loop] } = queriesOf(stored)
  const panel = shown(queries, stored)
  t.same(texts(panel, '.findings li'), [`${loop?.text.replaceAll('`', '')} Show`])
  t.equal(panel.querySelector('.findings a')?.getAttribute('href'), '#query-3')
  t.match(texts(panel, '.note')[0], /^26 queries · 3 statements · \d.* [mµ]?s$/)
  const marked = panel.querySelector('tr.has-warning') as Element
  t.same(texts(marked, 'code.sql, .count, td.number:nth-child(2)'), ['select name from users where id = ?', 'n+1', '24'])
  const runs = marked.nextElementSibling as Element
  t.equal(runs.querySelector('summary')?.textContent, '24 runs, 24 different')
  t.same(texts(runs, 'code.sql').slice(0, 2), ['select name from users where id = 1', 'select name from users where id = 2'])
  t.same([...runs.querySelectorAll('tr')].map(({ id }) => id), [...Array(24).keys()].map((i) => `query-${i + 3}`))
  t.same(['#query-1', '#query-2'].flatMap((id) => texts(panel, `${id} code.sql`)), [
    "select id from users where api_token = '******'", 'select id, author from articles order by id'
  ], 'the parameters are in their places, so that the statement can be run')
  t.same(texts(panel, '#query-1 [data-copy] :is(.sql-keyword, .sql-value)'), ['select', 'from', 'where', "'******'"])
  t.same(texts(panel, '#query-2 td.number').slice(0, 2), ['1', '24'], 'its runs and rows')
  t.equal(panel.querySelectorAll('code[data-copy="Copy"]').length, 3, 'one for each statement')
  const linked = JSDOM.fragment(markup(queries, stored, { editor: editorLink({ editor: 'vscode' }) }))
  const [, file, line] = /^(.*):(\d+):\d+$/.exec(String(queriesOf(stored).queries[2]?.source)) ?? []
  t.equal(linked.querySelector('#query-3 .places a')?.getAttribute('href'), `vscode://file${file}:${line}:1`)
  t.same(problemsOf(queries, stored), { errors: 0, warnings: 1 })
})

inBothProducts('queries are nested below the hook or handler that sent them, and have a sentence in the overview', async (t, build) => {
  const app = await build(declareArticles)
  const stored = await profileOf(app, await app.inject('/articles'))
  const waterfall = shown(timelinePart, stored)
  const below = (name: string): string[] => {
    const row = [...waterfall.querySelectorAll('.waterfall li')].find((row) => row.querySelector('.name')?.textContent?.startsWith(name))
    return texts(row as Element, ':scope > ol > li > details .name > span')
  }
  t.same(below('preHandler authenticate'), ['select id from users where api_token = ?'])
  t.same(below('handler').slice(0, 2), ['select id, author from articles order by id', '24 × select name from users where id = ?'])
  t.equal(below('handler').length, 2, 'equal ones are one row')
  t.equal(waterfall.querySelector('.waterfall .bar-query .more a')?.getAttribute('href'), '?panel=queries#query-1')
  t.match(texts(waterfall, '.legend a').join(), 'query 26')
  const facts = new Map([...shown(overview, stored).querySelectorAll('.facts-list dt')].map((name) => [name.textContent, name.nextElementSibling]))
  t.match(facts.get('Queries')?.textContent, /^26 queries, .*s of .*sN\+1: select name from users where id = \? 24 times from .*\/test\/parts\/queries/)
  t.equal(facts.get('Queries')?.querySelector('a')?.getAttribute('href'), '?panel=queries')
})

inBothProducts('the toolbar and the list have the number of queries, and profiles are found by it', async (t, build, product) => {
  const app = await build(declareArticles, { profiler: {} })
  const page = await app.inject({ url: '/articles', headers: html })
  const broken = await app.inject('/broken/7')
  const token = String(page.headers['x-debug-token'])
  await Promise.all([profileOf(app, page), profileOf(app, broken)])
  const { queries } = (await app.inject(`/_wdt/${token}.json`)).json<{ queries: object }>()
  t.match(queries, { count: 26, failed: 0, duration: Number })
  for (const { body } of [page, await app.inject({ url: `/_wdt/${token}`, headers: html })]) {
    t.match(body, /<li class="item queries warn">.*panel=queries".*<\/span>26 <span class="label">queries<\/span>/)
  }

  const found = async (q: string): Promise<string[]> => {
    const { profiles } = (await app.inject(`/_profiler/search.json?${new URLSearchParams({ q })}`)).json<{ profiles: Array<{ token: string }> }>()
    return profiles.map(({ token }) => token)
  }
  const other = String(broken.headers['x-debug-token'])
  for (const q of ['queries:>20', 'queries:26', 'queries:>=26', 'n+1:yes', 'n+1:YES']) t.same(await found(q), [token], q)
  for (const q of ['queries:<20', 'queries:3', 'queries:<=3 status:500']) t.same(await found(q), [other], q)
  for (const q of ['queries:2', 'queries:>26', 'queries:<3']) t.same(await found(q), [], q)
  const asField = (await app.inject('/_profiler/search.json?queries=%3E20&n%2B1=yes')).json<{ profiles: Array<{ values: object }> }>()
  t.match(asField.profiles.map(({ values }) => values), [{ queries: '26', 'n+1': 'yes' }])
  for (const [q, sentence] of [['queries:many', '"many" is not a number of queries such as >20'], ['n+1:no', '"no" is not "yes"']] as const) {
    const wrong = await app.inject({ url: `/_profiler/search?${new URLSearchParams({ q })}`, headers: html })
    t.equal(wrong.statusCode, 400)
    t.match(texts(JSDOM.fragment(wrong.body), '.failure')[0], sentence)
  }

  const list = JSDOM.fragment((await app.inject({ url: '/_profiler/', headers: html })).body)
  const column = texts(list, '.profiles thead th').indexOf('Queries')
  // In the service the refused searches have profiles, too, with the query of the application's hook.
  const expected = product === 'service' ? ['1', '1', '3', '26'] : ['3', '26']
  t.same([...list.querySelectorAll('.profiles tbody tr')].map(({ children }) => children[column]?.textContent), expected)
  t.match(texts(list, '.profiles .message > *').filter((text) => /n\+1/i.test(text)), [/^Queries: N\+1: /], 'once')
  t.ok(list.querySelector('.profiles tr.has-warning .warning-line'))
})

inBothProducts('pages of profiles without queries are the same as before', async (t, build) => {
  const app = await build((app) => { app.get('/none', async (_, reply) => await reply.type('text/html').send('<html><body></body></html>')) })
  const answer = await app.inject({ url: '/none', headers: html })
  const stored = await profileOf(app, answer)
  t.equal(stored.collectors.queries, undefined)
  t.notOk('queries' in ((await app.inject('/_profiler/search.json')).json().profiles[0].values ?? {}))
  for (const url of [`/_profiler/${stored.token}`, `/_profiler/${stored.token}?panel=timeline`, `/_profiler/${stored.token}.md`, '/_profiler/']) {
    const shown = url === '/_profiler/' ? /panel=queries|<th[^>]*>Queries/ : /panel=queries|Queries/
    t.notMatch((await app.inject({ url, headers: url.endsWith('.md') ? {} : html })).body, shown, url)
  }
  t.notMatch((await app.inject({ url: `/_wdt/${stored.token}`, headers: html })).body, /panel=queries|Queries/)
})

inBothProducts('the diagnostic page shows the failed query with its place, and the queries before', async (t, build, product) => {
  const app = await build(declareArticles, { editor: 'vscode' })
  const answer = await app.inject({ url: '/broken/7', headers: html })
  const page = parseHtml(answer.body)
  const [failed, before] = [...page.querySelectorAll('.hint')] as [Element, Element]
  t.same(texts(failed, 'h2, p'), ['A query failed', 'column "titel" does not exist. Perhaps "title".'])
  t.equal(failed.querySelector('pre')?.textContent, "select id, titel\nfrom articles\nwhere author = 17 and api_token = '******'")
  t.equal(failed.querySelector('pre mark')?.textContent, 'titel')
  t.match(failed.querySelector('a.file')?.getAttribute('href'), /^vscode:\/\/file.*packages\/hindsight\/test\/parts\/queries\/database\.ts:\d+/)
  t.same(texts(before, 'h2, p, li code'), [
    'Queries before the failure', '2 other queries were sent.', "select id from users where api_token = '******'", 'select name from users where id = 3'
  ])
  t.match(texts(before, 'li span')[1], /^1 row, .*s$/)
  const markdown = page.querySelector('#as-markdown')?.textContent ?? ''
  const stored = profileMarkdown(await profileOf(app, answer))
  for (const text of [markdown.replaceAll(/^## Hint: /gm, '## Hint\n\n'), stored]) {
    t.match(text, '## Hint\n\nA query failed\n\ncolumn "titel" does not exist. Perhaps "title". (`packages/hindsight/test/parts/queries/database.ts:')
    t.match(text, "```sql\nselect id, titel\n           ^\nfrom articles\nwhere author = 17 and api_token = '******'\n```")
    t.match(text, '## Hint\n\nQueries before the failure\n\n2 other queries were sent.\n\n- `select id from users')
  }
  t.notMatch(answer.body, 'hidden-value')
  if (product === 'package') return
  const { hints } = (await app.inject({ url: '/broken/7', headers: { accept: 'application/json' } })).json<{ hints: object[] }>()
  t.match(hints, [
    { title: 'A query failed', language: 'sql', mark: 11, source: /database\.ts:\d+$/ },
    { title: 'Queries before the failure', steps: [{ text: /^1 row/ }, { text: /^1 row/ }] }
  ])
})

t.test('a failed statement over several lines is not indented with the code around it', async (t) => {
  const statement = '\n      select id,\n        titel\n      from articles\n    '
  const query = { system: 'postgresql', statement, shape: '', start: 0, duration: 1, rows: null, source: null }
  const hints = queries.hints?.(
    { queries: [{ ...query, error: { message: 'x', position: statement.indexOf('titel') + 1 } }] }, { exceptions: [{}] } as never
  )
  const code = 'select id,\n  titel\nfrom articles'
  t.match(hints, [{ code, mark: code.indexOf('titel') }])
})

inBothProducts('the diagnostic page masks path parameters in queries, and shows the last queries of any failure', async (t, build) => {
  const app = await build((app) => {
    declareArticles(app)
    app.get<{ Params: { token: string } }>('/tokens/:token', async ({ params: { token } }) => { throw new Error(`no ${token.length}`) })
  })
  const { body } = await app.inject({ url: '/tokens/abcdefgh', headers: html })
  t.same(texts(JSDOM.fragment(body), '.hint :is(h2, p)'), ['Queries before the failure', '1 query was sent.'])
})

inBothProducts('the diagnostic page shows the only query once, where it has failed', async (t, build) => {
  const app = await build((app) => {
    app.get('/broken', async () => {
      const error = new Error('a syntax error')
      recordQuery({ system: 'postgresql', statement: 'selec 1' })({ error })
      throw error
    })
  })
  const { body } = await app.inject({ url: '/broken', headers: html })
  t.same(texts(JSDOM.fragment(body), '.hint h2'), ['A query failed'])
})

inBothProducts('Markdown groups queries by shape; comparisons have their numbers, and no parameters', async (t, build) => {
  const app = await build(declareArticles)
  const [many, fine, broken] = [await app.inject('/articles'), await app.inject('/broken/fine'), await app.inject('/broken/7')]
  const profiles = [await profileOf(app, many), await profileOf(app, fine), await profileOf(app, broken)] as const
  const markdown = profileMarkdown(profiles[0])
  t.match(markdown, /## Queries\n\n```text\n26 queries, .*s of .*s\.\n- N\+1: `select name from users where id = \?` 24 times from .*\n/)
  t.match(markdown, /^24 × select name from users where id = \? \(.*s, n\+1, packages\/hindsight\/test\/parts\/queries\/database\.ts:\d+\)$/m)
  t.notMatch(markdown, /^1 × select name/m)
  const section = compareProfiles(profiles[0], profiles[1]).sections.find(({ name }) => name === 'queries')
  t.same(section?.differences.sort((a, b) => a.what < b.what ? -1 : 1), [
    { what: 'query `select id, author from articles order by id`', kind: 'only-a', a: '1 time', b: null },
    { what: 'query `select name from users where id = ?`', kind: 'changed', a: '24 times', b: '1 time' }
  ])
  t.equal(section?.equal, 1)
  const { profiler } = app.hindsight
  const store = { search: profiler.search.bind(profiler), get: profiler.find.bind(profiler) }
  const success = await successOf(store, profiles[2])
  const shape = 'query `select id, titel from articles where author = ? and api_token = ?`'
  t.same(success?.differences.find(({ what }) => what === shape), { what: shape, before: 'not sent', now: '1 time' })
})

t.test('a shape that ends with the name of a value that always differs is compared', (t) => {
  const times = (count: number) =>
    profile('000001', { collectors: { queries: { count, groups: [{ shape: 'select 1 order by time', count, duration: 1 }] } } })
  const section = compareProfiles(times(1), times(9)).sections.find(({ name }) => name === 'queries')
  t.same(section?.differences, [{ what: 'query `select 1 order by time`', kind: 'changed', a: '1 time', b: '9 times' }])
  t.end()
})

t.test('the time of queries after the response is no part of that of the request', (t) => {
  const group = { shape: 'select 1', system: 'sqlite', count: 8, distinct: 8, duration: 35, sources: [], kind: null }
  const late = profile('000001', { duration: 4, collectors: { queries: { count: 8, failed: 0, duration: 35, queries: [], groups: [group], findings: [] } } })
  t.match(profileMarkdown(late), /^8 queries, at least 35 ms\.$/m)
  t.match(profileMarkdown({ ...late, duration: 40 }), /^8 queries, at least 35 ms of 40 ms\.$/m)
  const sent = { ...group, count: 2, duration: 3, queries: [1, 30].map((start) => ({ ...group, start, duration: 1.5 })), groups: [group], findings: [] }
  const isSent = { duration: 4, collectors: { queries: { ...sent, failed: 0 } } }
  t.match(profileMarkdown(profile('000001', isSent)), /^2 queries, 3 ms, 1 after the response\.$/m)
  t.match(profileMarkdown(profile('000001', { ...isSent, kind: 'job' })), /^2 queries, 3 ms, 1 after the end\.$/m, 'a job has no response')
  t.end()
})

t.test('the numbers of the panel include the runs that are only counted', (t) => {
  const run = { system: 'sqlite', statement: 'select 1', shape: 'select ?', start: 1, duration: 2, rows: 1, source: null }
  const group = (shape: string, count: number, duration: number) => ({ ...run, shape, count, distinct: 1, duration, sources: [], kind: null })
  const groups = [group('select ?', 300, 600), group('delete from a', 7, 5)]
  const panel = shown(queries, profile('000001', {
    collectors: { queries: { count: 307, failed: 0, duration: 4, queries: [run, run], groups, findings: [] } }
  }))
  t.same(texts(panel, '.note'), ['307 queries · 2 statements · at least 4 ms', '305 more were only counted.'])
  t.same(texts(panel, 'summary'), ['2 of 300 runs, 1 different'])
  t.same(texts(panel, 'tbody td.number[data-unit=times]'), ['300', '7'], 'a statement without a recorded run has its row')
  t.end()
})

t.test('hostile and missing data are shown safely', (t) => {
  const query = { system: HOSTILE, statement: HOSTILE, parameters: { [HOSTILE]: HOSTILE }, source: HOSTILE, shape: HOSTILE, error: { message: HOSTILE } }
  const group = { ...query, count: 1, distinct: 1, duration: 1, sources: [HOSTILE], kind: HOSTILE }
  const hostile = profile('000001', {
    collectors: { queries: { count: 600, queries: [query, query], groups: [group], findings: [{ kind: HOSTILE, text: HOSTILE, queries: [0] }] } }
  })
  for (const part of [queries, timelinePart, overview]) t.equal(shown(part, hostile).querySelectorAll('script, img').length, 0, part.name)
  t.match(shown(queries, hostile).textContent, '598 more were only counted.')
  t.doesNotThrow(() => profileMarkdown(hostile))
  t.equal(shown(queries, profile('000001', { collectors: { queries: {} } })).textContent, 'No query was sent.')
  t.match(shown(queries, profile('000001', { collectors: { queries: { error: 'broke' } } })).textContent, 'broke')
  t.end()
})
