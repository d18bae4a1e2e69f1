import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { JSDOM } from 'jsdom'
import t, { type Test } from 'tap'
import { pluginOf } from '../support/products.js'
import { hindsight } from '../../src/hindsight.js'
import { OPTIONS } from '../../src/check-options.js'
import { GROUPS, type Collector, type CollectorPanel, type InternalAbility, type Part } from '../../src/parts/part.js'
import { html } from '../../src/view/text.js'
import { profileOf } from '../support/app.js'
import { testdir } from '../support/folder.js'
import { texts } from './support.js'
import { inBothProducts, type TestedProduct } from '../support/products.js'
import { withoutMarks } from '../support/marks.js'

interface Tenant { of: string, rows: number, secret?: string }

const HTML = { accept: 'text/html', 'sec-fetch-dest': 'document' }

/** A part with every ability; `calls` counts how often it is started and ended. */
function tenantPart (calls: string[] = []): Collector<Tenant> {
  return {
    name: 'tenant',
    start: () => {
      calls.push('start')
      return () => calls.push('end')
    },
    collect: ({ query, headers }) => {
      const { of = '' } = query as { of?: string }
      return { of, rows: of.length, secret: `Bearer ${String(headers.authorization)}` }
    },
    panel: {
      label: 'Tenant',
      group: 'request',
      count: ({ rows }) => rows,
      problem: ({ of }) => of === 'none',
      warnings: ({ of }) => of === 'old' ? 2 : 0,
      render: ({ of }) => html`<p class="tenant">of ${of}</p>`
    },
    timeline: ({ of }) => [{ name: `look up ${of}`, start: 0.01, duration: 0.5, failed: of === 'none' }],
    overview: ({ of, rows }) => [{ title: 'Tenant', value: html`<b>${of}</b>, ${rows}` }],
    sentence: ({ of }) => of === '' ? undefined : `It is of tenant ${of}.`,
    times: ({ of, rows }) => [{ name: `look up ${of}`, time: rows, count: 1 }],
    notice: ({ of }) => ({ title: 'Whose is it?', sentences: of === 'none' ? ['Nobody <owns> it.'] : [] }),
    toolbar: ({ of }) => ({ title: 'Tenant', head: html`tenant ${of}`, facts: { Tenant: of } }),
    markdown: ({ of }) => [{ title: 'Tenant', text: `of ${of}` }],
    hints: ({ of }) => of === 'none' ? [{ title: 'No tenant', text: 'Send ?of=blue.' }] : [],
    comparison: [{ values: ({ of }) => ({ tenant: of }) }],
    differences: [{ values: ({ of }) => ({ 'tenant of the request': of }) }],
    search: { tenant: ({ of }) => of }
  }
}

async function start (t: Test, product: TestedProduct, collectors: Collector[], storage?: 'memory'): Promise<FastifyInstance> {
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  const profiler = { collectors, ...storage === undefined ? { dataDir: testdir(t) } : { storage } }
  await app.register(pluginOf(product), { debug: true, profiler })
  app.get('/page', async (_request, reply) => reply.type('text/html').send('<!DOCTYPE html><body><p>page</p></body>'))
  app.get('/', async ({ query }: FastifyRequest) => {
    if ((query as { of?: string }).of === 'none') throw new Error('failed on purpose')
    return 'done'
  })
  t.teardown(() => app.close())
  await app.ready()
  return app
}

async function page (app: FastifyInstance, url: string): Promise<DocumentFragment> {
  return JSDOM.fragment((await app.inject({ url, headers: HTML })).body)
}

inBothProducts('a part of an application is in each view of its profiles', async (t, _build, product) => {
  const calls: string[] = []
  const app = await start(t, product, [tenantPart(calls)], product === 'service' ? 'memory' : undefined)
  t.same(calls, ['start'])
  const { token: fine } = await profileOf(app, await app.inject({ url: '/?of=blue', headers: { authorization: 's3cret' } }))
  const { token: failed, collectors } = await profileOf(app, await app.inject('/?of=none'))
  t.match(collectors.tenant, { of: 'none', rows: 4 })
  const profile = (await app.inject(`/_profiler/${fine}.json`)).body
  t.match(JSON.parse(profile), { collectors: { tenant: { of: 'blue', rows: 4, secret: '******' } } })
  t.notMatch(profile, 's3cret')

  const panel = await page(app, `/_profiler/${failed}?panel=tenant`)
  t.same(texts(panel, '.menu [aria-current]'), ['Tenant 1 error'])
  t.same(texts(await page(app, `/_profiler/${fine}?panel=tenant`), '.menu [aria-current]'), ['Tenant 4 items'])
  t.equal(panel.querySelector('.menu li > ul [aria-current]')?.closest('ul')?.parentElement?.querySelector('a > span')?.textContent, 'Request')
  t.equal(panel.querySelector('.panel .tenant')?.textContent, 'of none')
  t.same(texts(panel, '.blocked'), ['Whose is it?Nobody <owns> it.'])

  const timeline = await page(app, `/_profiler/${failed}?panel=timeline`)
  t.equal(timeline.querySelector('.more a[href="?panel=tenant"]')?.closest('details')?.querySelector('.name')?.textContent, 'look up none')
  t.ok((await page(app, `/_profiler/${fine}?panel=timeline`)).querySelector('.waterfall .bar-own'))
  t.ok(texts(await page(app, `/_profiler/${fine}?panel=timeline`), '.legend a').includes('Tenant 1'))

  const overview = await page(app, `/_profiler/${failed}`)
  t.ok(texts(overview, '.facts-list dt').includes('Tenant'))
  t.ok(texts(overview, '.facts-list dd').includes('none, 4'))
  t.ok(texts(overview, '.differences tbody tr').includes('tenant of the requestbluenone'))

  const bar = (root: DocumentFragment): string[] => texts((root.querySelector('hindsight-toolbar > template') as HTMLTemplateElement).content,
    '.item.own .head')
  t.same(bar(await page(app, '/page?of=blue')), ['Tenant: tenant blue'], 'before the response is sent')
  t.same(bar(await page(app, `/_wdt/${failed}`)), ['Tenant: tenant none'])

  const markdown = withoutMarks((await app.inject(`/_profiler/${failed}.md`)).body)
  t.match(markdown, 'It is of tenant none.')
  t.match(markdown, '## Tenant\n\n```text\nof none\n```')
  t.match(markdown, '## Hint\n\nNo tenant\n\nSend ?of\\=blue\\.'.replaceAll('\\', ''))
  t.match(markdown, 'tenant of the request: blue → none')

  const comparison = (await app.inject(`/_profiler/${fine}/compare/${failed}.json`)).json<{ sections: Array<{ name: string, label: string }> }>()
  t.match(comparison.sections.find(({ name }) => name === 'tenant'), { label: 'Tenant', differences: [{ what: 'tenant', a: 'blue', b: 'none' }], equal: 0 })

  const search = async (query: string): Promise<unknown[]> => (await app.inject(`/_profiler/search.json?${query}`)).json<{
    profiles: Array<{
      token: string
      values: unknown
    }>
  }>().profiles
  t.match(await search('q=tenant:blue+url:of'), [{ values: { tenant: 'blue' } }, { token: fine, values: { tenant: 'blue' } }])
  t.match(await search('tenant=NO&error=1'), [{ token: failed, values: { tenant: 'none' } }])
  t.same(await search('tenant=lue'), [])
  const list = await page(app, '/_profiler/')
  t.equal(texts(list, 'td .facts').filter((text) => text === 'tenant: none').length, 1)
  t.ok(list.querySelector('.search [name=tenant]'))
  t.match((await app.inject('/_profiler/search.json?nobody=1')).json(), { detail: /use one of .*, tenant, q/ })
  await app.close()
  t.same(calls, ['start', 'end'])
})

inBothProducts('a part of an application may have an issue, data for a page, routes, and a box of the replay', async (t, _build, product) => {
  const made: string[] = []
  const part: Collector<Tenant> = {
    name: 'tenant',
    collect: ({ query, headers }) => ({ of: String(headers['x-tenant'] ?? (query as { of?: string }).of), rows: 1 }),
    made: ({ of }, { token }, { parts }) => made.push(`${of} ${token} ${parts.some(({ name }) => name === 'tenant')}`),
    issue: ({ of }) => of === 'old' ? 'it is old' : undefined,
    expand: async (data, { rows }) => await Promise.resolve(rows === undefined ? undefined : { ...data, rows: Number(rows) }),
    panel: { render: ({ of, rows }) => html`<p class="tenant">${of} ${rows}</p>` },
    routes (app, { optionsOf, profileOf, notAvailable }) {
      app.get('/:token/tenant', optionsOf('tenant'), async (request) => {
        const { of } = (await profileOf(request)).collectors.tenant as Tenant
        if (of === 'blue') throw notAvailable('Blue has none.')
        return { of }
      })
    },
    aboveList: ({ base }, waiting) => html`<p class="above">${base} ${waiting}</p>`,
    replay: { label: 'As another tenant', headers: { 'x-tenant': 'another' } }
  }
  const fails = (): never => { throw new Error('no') }
  const broken: Collector = { name: 'broken', collect: () => 1, made: fails, issue: fails, expand: fails, aboveList: fails }
  const app = await start(t, product, [broken, part], 'memory')
  const { token: old } = await profileOf(app, await app.inject('/?of=old'))
  const { token: blue } = await profileOf(app, await app.inject('/?of=blue'))
  t.same(made, [`old ${old} true`, `blue ${blue} true`])
  const { profiles } = (await app.inject('/_profiler/search.json')).json<{ profiles: Array<{ values?: { issues?: string } }> }>()
  t.same(profiles.map(({ values }) => values?.issues), [undefined, 'Tenant: it is old'])

  const panelOf = async (token: string, query = ''): Promise<string[]> => texts(await page(app, `/_profiler/${token}?panel=tenant${query}`), '.tenant')
  t.same(await panelOf(old), ['old 1'])
  t.same(await panelOf(old, '&rows=7'), ['old 7'])
  t.match((await app.inject(`/_profiler/${old}.json?rows=7`)).json(), { collectors: { tenant: { rows: 1 } } }, 'the stored data stay')

  t.same((await app.inject(`/_profiler/${old}/tenant`)).json(), { of: 'old' })
  const json = { accept: 'application/json' }
  const refused = await app.inject({ url: `/_profiler/${blue}/tenant`, headers: json })
  t.same([refused.statusCode, refused.body.includes('Blue has none.')], [404, true])
  t.equal((await app.inject({ url: '/_profiler/000000/tenant', headers: json })).statusCode, 404)
  t.same(texts(await page(app, '/_profiler/'), '.above'), ['/_profiler 0'])

  const url = `/_profiler/${old}/replay`
  t.match(texts(await page(app, url), 'label.tenant'), ['As another tenant'])
  const { formToken } = (await app.inject({ url, headers: json })).json<{ formToken: string }>()
  const replay = async (fields: object): Promise<string> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const payload = String(new URLSearchParams({ form_token: formToken, ...fields }))
    const { location } = (await app.inject({ method: 'POST', url, headers, payload })).headers
    return String(location)
  }
  const [, again = ''] = /^\/_profiler\/(\w+)\?panel=tenant$/.exec(await replay({ tenant: '1' })) ?? []
  t.same(await panelOf(again), ['another 1'])
  t.match(await replay({}), new RegExp(`^/_profiler/${old}/compare/`))
})

t.test('routes that throw are left out with a warning', async (t) => {
  const warnings: string[] = []
  const listen = ({ message }: Error): void => { warnings.push(message) }
  process.on('warning', listen)
  t.teardown(() => process.off('warning', listen))
  const collectors: Collector[] = [
    { name: 'no-routes', collect: () => 1, routes: () => { throw new Error('there are none') } },
    { name: 'one-route', collect: () => 1, routes: (app) => { app.get('/one', () => 'one') } }
  ]
  const app = await start(t, 'package', collectors, 'memory')
  t.equal((await app.inject('/_profiler/one')).body, 'one')
  t.match(warnings.join(), 'The routes of the part "no-routes" were not added: there are none')
})

inBothProducts('functions that throw affect no other part', async (t, _build, product) => {
  const fails = (): never => { throw new Error('no') }
  const later = async (): Promise<never> => { throw new Error('later') }
  const broken = (name: string, fails: () => never) => ({
    name,
    collect: () => ({ a: 1 }),
    panel: { count: fails, problem: fails, warnings: fails, render: fails },
    timeline: fails,
    overview: fails,
    notice: fails,
    toolbar: fails,
    markdown: fails,
    hints: fails,
    comparison: [{ values: fails }, { order: 1, compare: fails }],
    differences: [{ values: fails }],
    search: { broken: fails }
  })
  const app = await start(t, product, [broken('broken', fails), broken('late', later as never), tenantPart()] as Collector[], 'memory')
  const { token } = await profileOf(app, await app.inject('/?of=none'))
  for (const url of ['?panel=overview', '?panel=timeline', '?panel=broken', '.md', `/compare/${token}`, '/differences']) {
    t.equal((await app.inject({ url: `/_profiler/${token}${url}`, headers: HTML })).statusCode, 200, url)
  }
  t.match((await page(app, `/_profiler/${token}?panel=late`)).textContent, 'The panel failed: it returned a promise')
  t.match((await page(app, '/page?of=a')).querySelector<HTMLTemplateElement>('hindsight-toolbar > template')?.content.textContent, 'tenant a')
  t.match((await page(app, `/_profiler/${token}`)).textContent, 'Tenant')
})

inBothProducts('text that a part returns is no markup', async (t, _build, product) => {
  const hostile = '<img src=x onerror=alert(1)>'
  const text: Collector = {
    name: 'text',
    collect: () => hostile,
    panel: { render: (data) => data },
    overview: (data) => [{ title: 'Fact', value: data }, { title: 'Facts', column: 'main', value: [data, html`<i>${data}</i>`] }],
    toolbar: (data) => ({ title: 'Text', head: data, facts: { Fact: 1 }, more: data })
  }
  const app = await start(t, product, [text], 'memory')
  const { token } = await profileOf(app, await app.inject('/'))
  const panel = await page(app, `/_profiler/${token}?panel=text`)
  t.match(panel.querySelector('.panel')?.textContent, hostile)
  const overview = await page(app, `/_profiler/${token}`)
  t.equal(overview.querySelector('section.part > i')?.textContent, hostile, 'markup of a list is markup')
  const toolbar = (await page(app, '/page')).querySelector<HTMLTemplateElement>('hindsight-toolbar > template')?.content
  t.equal(toolbar?.textContent?.split(hostile).length, 3, 'the head and the further facts')
  for (const root of [panel, overview, toolbar as DocumentFragment]) t.equal(root.querySelector('img'), null)
})

inBothProducts('applications with equal options have their own parts', async (t, _build, product) => {
  const of = (name: string): Collector => ({ name: 'tenant', collect: () => 1, panel: { render: () => html`<p class="by">${name}</p>` } })
  const [a, b] = [await start(t, product, [of('a')], 'memory'), await start(t, product, [of('b')], 'memory')]
  const by = async (app: FastifyInstance): Promise<string | undefined | null> => {
    const { token } = await profileOf(app, await app.inject('/'))
    return (await page(app, `/_profiler/${token}?panel=tenant`)).querySelector('.by')?.textContent
  }
  t.equal(await by(a), 'a')
  t.equal(await by(b), 'b')
  t.equal(await by(a), 'a')
  await b.close()
  t.equal(await by(a), 'a')
})

t.test('data of a part that an application does not have are JSON', async (t) => {
  const dataDir = testdir(t)
  const app = Fastify() as unknown as FastifyInstance
  await app.register(hindsight, { debug: true, profiler: { dataDir, collectors: [tenantPart()] } })
  const { token } = await profileOf(app, await app.inject('/?of=blue'))
  await app.close()
  const other = Fastify() as unknown as FastifyInstance
  t.teardown(() => other.close())
  await other.register(hindsight, { debug: true, profiler: { dataDir } })
  t.match((await page(other, `/_profiler/${token}?panel=tenant`)).querySelector('.panel pre')?.textContent, /"of": "blue"/)
})

t.test('a criterion with an invalid name stops the start', async (t) => {
  for (const name of ['url', 'limit', 'Tenant', 'a b']) {
    const app = Fastify() as unknown as FastifyInstance
    const collectors = [{ name: 'tenant', collect: () => 1, search: { [name]: () => 1 } }]
    await t.rejects(Promise.resolve(app.register(hindsight, { debug: true, profiler: { storage: 'memory', collectors } })), {
      message: `profiler.collectors: the criterion "${name}" of "search" is one of Hindsight, or not of the letters a to z and "_"`
    })
    await app.close()
  }
})

t.test('a collector may have what its type offers, and nothing else', (t) => {
  // The types check that both lists are complete.
  const abilities = [
    'name', 'start', 'collect', 'made', 'expand', 'panel', 'issue', 'timeline', 'overview', 'sentence', 'notice', 'toolbar', 'markdown',
    'hints', 'comparison', 'differences', 'times', 'search', 'routes', 'aboveList', 'replay'
  ] as const satisfies ReadonlyArray<keyof Collector>
  const ofPanel = ['label', 'group', 'count', 'problem', 'warnings', 'render'] as const satisfies ReadonlyArray<keyof CollectorPanel>
  const isComplete: [Exclude<keyof Part, typeof abilities[number] | InternalAbility>, Exclude<keyof CollectorPanel, typeof ofPanel[number]>] extends
  [never, never] ? true : false = true
  t.ok(isComplete)
  const { properties = {} } = OPTIONS.profiler?.properties?.collectors?.items ?? {}
  t.same(Object.keys(properties).sort(), [...abilities].sort())
  t.same(Object.keys(properties.panel?.properties ?? {}).sort(), [...ofPanel].sort())
  t.same(properties.panel?.properties?.group?.enum, Object.keys(GROUPS))
  t.end()
})
