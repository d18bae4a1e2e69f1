import t from 'tap'
import { JSDOM } from 'jsdom'
import { exceptions as exceptionsPanel } from '../../src/parts/exceptions/index.js'
import { serviceParts } from '../../../../lib/parts/index.js'
import { parts as packageParts } from '../../src/parts/index.js'
import { countOf, panelsOf, problemsOf } from '../../src/parts/read.js'
import { menuGroups } from '../../src/reading/pages/profile.js'
import type { Profile } from '../../src/store/profile.js'
import { profile } from './fixture.js'
import { HOSTILE } from './hostile.js'
import { sample } from './sample.js'
import { markup, shown as panelOf } from './support.js'

/** The profile as a store returns it. */
const stored = (profile: Profile) => JSON.parse(JSON.stringify(profile)) as Profile

/** The parts of a profile of the service. */
const parts = [...packageParts, ...serviceParts]

/** Those that have a panel. */
const panels = parts.filter(({ panel }) => panel !== undefined)

function shown (name: string, profile: Profile, query = {}): DocumentFragment {
  const part = panelsOf(parts, profile).find((part) => part.name === name)
  if (part === undefined) throw new Error(`no panel ${name}`)
  return panelOf(part, profile, query)
}

const texts = (root: ParentNode, selector: string) =>
  [...root.querySelectorAll(selector)].map(element => element.textContent?.replace(/\s+/g, ' ').trim())

const isProblem = ({ errors, warnings }: { errors: number, warnings: number }): boolean => errors + warnings > 0

t.test('the menu has every panel, and a JSON panel for each other collector', async t => {
  t.same(panelsOf(parts, sample()).map(panel => panel.name),
    ['overview', 'request', 'job', 'session', 'router', 'exceptions', 'otherErrors', 'logs', 'timeline', 'spans', 'http-client', 'trace',
      'cpu', 'events', 'cors', 'csp', 'config', 'params', 'attributes', 'security', 'locale',
      'pagination', 'cache', 'links', 'assets', 'template', 'custom', 'broken'])
  t.same(panelsOf(parts, profile('000001')), panels.filter(({ panel }) => panel?.always))
  t.same(panels.filter(({ panel }) => panel?.always).map(panel => panel.name),
    ['overview', 'request', 'router', 'exceptions', 'logs', 'timeline', 'events', 'security'])
  t.same(menuGroups(panelsOf(parts, sample())).map(({ title, panels }) => [title, panels.length]),
    [['Overview', 1], ['Request', 9], ['Errors', 2], ['Logs', 1], ['Timeline', 2], ['Calls', 2], ['CPU', 1], ['Headers and hooks', 7],
      ['Environment', 1], ['Application', 2]])
  t.same(menuGroups(panelsOf(parts, profile('000001'))).map(({ title }) => title),
    ['Overview', 'Request', 'Errors', 'Logs', 'Timeline', 'Headers and hooks'], 'no empty part')
  const job = profile('000001', { kind: 'job', name: 'x', outcome: 'done', collectors: { job: {} } })
  t.same(panelsOf(parts, job).map(panel => panel.name), ['overview', 'job', 'exceptions', 'logs', 'timeline'], 'a job has none of requests')
})

t.test('panels have counts and problems', async t => {
  const facts = (profile: Profile) => panelsOf(parts, profile).map(panel => [panel.name, countOf(panel, profile), isProblem(problemsOf(panel, profile))])
  t.same(facts(stored(sample())), [
    ['overview', undefined, false], ['request', undefined, false], ['job', undefined, false], ['session', undefined, false],
    ['router', undefined, false], ['exceptions', 2, true],
    ['otherErrors', undefined, true], ['logs', 2, true], ['timeline', undefined, false], ['spans', undefined, false], ['http-client', undefined, true],
    ['trace', undefined, false], ['cpu', undefined, false], ['events', 3, true], ['cors', undefined, true], ['csp', undefined, false],
    ['config', undefined, false], ['params', undefined, true], ['attributes', undefined, false], ['security', undefined, false],
    ['locale', undefined, false], ['pagination', undefined, true], ['cache', undefined, false],
    ['links', undefined, false], ['assets', undefined, false], ['template', undefined, false], ['custom', undefined, false], ['broken', undefined, true]
  ])
  t.same(facts(profile('000001')), [
    ['overview', undefined, false], ['request', undefined, false], ['router', undefined, false], ['exceptions', 0, false],
    ['logs', 0, false], ['timeline', undefined, false], ['events', 0, false], ['security', 0, false]
  ])
  t.same(problemsOf(panels.find(panel => panel.name === 'router') ?? { name: '' }, profile('000001', { status: 404 })), { errors: 1, warnings: 0 })
})

t.test('the badges of the menu count errors and warnings', async t => {
  const calls = [{ status: 200 }, { status: 404 }, { status: 503 }, { status: null, error: 'ECONNREFUSED' }]
  const line = (level: string, channel = 'app') => ({ time: '', level, channel, message: '', context: {} })
  const logs = ['debug', 'info', 'warn', 'warn', 'error', 'fatal'].map(level => line(level))
  const of = profile('000001', {
    logs: [...logs, line('debug', 'event')] as never,
    events: [{ outcome: 'raised' }, { outcome: 'ran' }] as never,
    collectors: {
      'http-client': { count: 4, calls },
      spans: { count: 1, spans: [{ error: 'x' }] },
      csp: {},
      blocked: [{ kind: 'csp' }, { kind: 'csp' }],
      mine: { error: 'x' },
      otherErrors: [[], []]
    }
  })
  const shown = Object.fromEntries(panelsOf(parts, of).map(panel => [panel.name, problemsOf(panel, of)]).filter(([, one]) => isProblem(one as never)))
  t.same(shown, {
    otherErrors: { errors: 2, warnings: 0 },
    logs: { errors: 2, warnings: 2 },
    events: { errors: 1, warnings: 0 },
    csp: { errors: 0, warnings: 2 },
    'http-client': { errors: 3, warnings: 0 },
    spans: { errors: 1, warnings: 0 },
    mine: { errors: 1, warnings: 0 }
  })
  t.equal(countOf(panels.find(({ name }) => name === 'logs') ?? { name: '' }, of), 6, 'no notifications')
})

t.test('request: the panel has the request and the response', async t => {
  const root = shown('request', sample())
  t.same(
    texts(root, 'h3'),
    ['Request', 'Query parameters', 'Request body', 'Request headers', 'Attributes', 'Response', 'Response body', 'Response headers']
  )
  t.same(texts(root, '[aria-label="Request"] tr'), ['URLhttp://127.0.0.1:3000/robots.txt?a=plain', 'IP address127.0.0.1', 'HTTP versionplain'])
  t.same(texts(root, '[aria-label="Request headers"] tr'), ['hostplain', 'plainplainplain'])
  t.same(texts(root, '[aria-label="Response"] tr'), ['Status404 Not Found', 'Size12 bytes'])
  t.same(texts(root, '[aria-label="Response headers"] tr'), ['content-typeplain', 'content-security-policydefault-src plain'])
  t.notMatch(texts(root, 'h3'), ['Cookies'], 'what is empty is left out')
})

t.test('request: a body that is not an object is shown as text', async t => {
  for (const [body, expected] of [['a\n b', 'a\n b'], [[1], '[\n  1\n]'], [0, '0']] as const) {
    t.equal(shown('request', profile('000001', { collectors: { request: { body } } })).querySelector('pre')?.textContent, expected)
  }
})

t.test('request: headers and sizes', async t => {
  const headers = { authorization: 'Bearer ******', referer: 'http://a.test/caf%C3%A9' }
  const sent = { 'set-cookie': ['a=******; Path=/', 'b=******'] }
  const root = shown('request', profile('000001', { collectors: { request: { headers }, response: { headers: sent, size: 12_345, body: '{"a":1}' } } }))
  t.same(texts(root, '[aria-label="Request headers"] td'), ['Bearer ******', 'http://a.test/caf%C3%A9'])
  t.same(texts(root, '[aria-label="Response headers"] td'), ['a=******; Path=/b=******'])
  t.same(texts(root, '[aria-label="Response"] tr'), ['Status200 OK', 'Size12.3 kB'])
  t.equal(root.querySelectorAll('.messages > .message-part').length, 2, 'side by side')
})

t.test('exceptions: the panel has the chain, its frames and the line', async t => {
  const root = shown('exceptions', sample())
  t.same(texts(root, 'article > header h3'), ['[1/2] LookupError root cause', '[2/2] NotFoundError caused by LookupError'])
  t.same(
    texts(root, '.frames .file').slice(0, 2),
    ['node_modules/fastify/route.js:10:2', '/app/plugins/router.ts:3:7'].map((file) => file.replace('node_modules/', ''))
  )
  t.same(texts(root, '.frames > .fold > details > summary'), ['1 vendor frame'])
  t.same(texts(root, '.excerpt mark .source'), ['throw error'])
  t.same(texts(root, '.excerpt mark .number'), ['→ 3'])
  t.same(texts(root, '.frame:has(details[open]) .file'), ['/app/plugins/router.ts:3:7'])
  t.equal(root.querySelector('a.file'), null)
  t.same(texts(root, '.tag'), ['status 404', 'code NOT_FOUND'])
  t.equal(root.querySelectorAll('.exception .exception').length, 2, 'the members of an aggregate')
  t.equal(root.querySelectorAll('.trace pre').length, 4)
})

t.test('exceptions: frames link to the editor', async t => {
  const editor = (file: string, line: number) => `vscode://file${file}:${line}`
  const shownMarkup = markup(exceptionsPanel, sample(), { editor })
  const links = [...JSDOM.fragment(shownMarkup).querySelectorAll('.own .file')]
  t.same(links.map(link => link.getAttribute('href')), ['vscode://file/app/plugins/router.ts:3'])
})

t.test('router: the panel has the matched route, its parameters and the other routes', async t => {
  const root = shown('router', sample())
  t.same(texts(root, 'tr'), ['nameplain', 'pattern/plain', 'methodsGET', 'plainplain', 'RouteMethodsPatternMismatch', 'plainGET/aplain'])
  t.equal(root.querySelector('[title="routes/a.ts:3"]')?.textContent, 'routes/a.ts:3')
  t.match(shown('router', profile('000001')).textContent, /No route matched\./)
  const route = { name: 'GET /orders/:id', pattern: '/orders/:id', methods: ['GET'], params: { id: '7' } }
  const rowsOf = (changes: object) => texts(shown('router', profile('000001', { route: { ...route, ...changes } as never })), 'tr')
  t.same(rowsOf({}), ['routeGET /orders/:id', 'id7'], 'a route without a name of its own')
  t.same(rowsOf({ controller: 'Orders.find' }), ['routeGET /orders/:id', 'controllerOrders.find', 'id7'])
  t.same(rowsOf({ name: 'list /orders/:id' }), ['namelist /orders/:id', 'pattern/orders/:id', 'methodsGET', 'id7'])
  t.same(rowsOf({ name: undefined, methods: null }), ['pattern/orders/:id', 'methodsnull', 'id7'], 'odd data')
})

t.test('router: the panel has the reason why no route matched', async t => {
  const tried = [{ name: 'GET /a', methods: ['GET'], pattern: '/a', why: 'segment 1 is "a", not "b"', isNear: true }]
  const root = shown('router', profile('000001', { status: 404, collectors: { router: { tried, more: 1_200 } } }))
  t.same(texts(root, 'h3'), ['Matched route', 'Similar routes'])
  t.same(texts(root, 'tbody tr'), ['GET /aGET/asegment 1 is "a", not "b"'])
  t.match(root.textContent, /1,200 more routes are less similar\./)
})

t.test('session, CORS, cache, locale and pagination: the fields of the collector in words', async t => {
  const rowsOf = (name: string) => texts(shown(name, sample()), '.pairs tr')
  t.same(rowsOf('session'), ['usedyes', 'originloaded', 'changedyes', 'plain******'])
  t.same(rowsOf('cors').slice(0, 4), ['originplain', 'preflightyes', 'allowedno', 'whyplain'])
  t.same(texts(shown('cors', sample()), 'h3'), ['Decision', 'Rule', 'Wanted', 'Headers'])
  t.same(rowsOf('cache'), ['outcomefresh', 'preconditionplain', 'deferredyes', 'privateplain',
    'etagplain', 'last modifiednone', 'cache controlplain', 'expiresnone', 'varyplain'])
  t.same(rowsOf('locale'), ['localeplain', 'sourceplain', 'defaultplain', 'enabledplain', 'servicesplain', 'enabledtrue', 'headerplain'])
  t.same(rowsOf('pagination'), ['page4', 'limit2', 'offset6', 'sortplain', 'directionasc', 'total3', 'pages2', 'sortableplain', 'max limit9', 'pageplain'])
  t.equal(shown('session', profile('000001', { collectors: { session: { used: false, cookie: true } } })).textContent, 'Sessionusednocookieyes')
})

t.test('HTTP client: the panel has the calls, and the number of calls without a record', async t => {
  const root = shown('http-client', sample())
  t.same(texts(root, 'table[aria-label="Requests"] > tbody > tr > td:not(.text)'), ['500', '', '1 ms', '2 ms'])
  t.match(root.textContent, /200 more were only counted\./)
  const calls = [
    { via: 'undici', method: 'GET', url: 'http://a.test/', status: 204, start: 1, duration: 2, requestHeaders: {}, responseHeaders: {} },
    { method: 'PUT', url: 'http://a.test/', status: null, start: 1, duration: null }
  ]
  const fine = profile('000001', { collectors: { 'http-client': { count: 2, calls } } })
  const rows = shown('http-client', fine)
  t.same(texts(rows, 'table[aria-label="Requests"] > tbody > tr > td.number'), ['1 ms', '2 ms', '1 ms', 'pending'])
  t.same(texts(rows, 'table[aria-label="Requests"] td:nth-child(2)'), ['204', 'pending'])
  t.same([...rows.querySelectorAll('rect')].map((bar) => bar.getAttribute('class')), ['bar-call', 'bar-call'])
  t.equal(panelsOf(parts,
    fine).find(({ name }) => name === 'http-client')?.name && problemsOf(panels.find(({ name }) => name === 'http-client') ?? { name: '' }, fine).errors, 0)
})

t.test('HTTP client: 100 calls have at most 150 kB, and the timeline links to a call', async t => {
  const headers = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`x-header-${i}`, 'value '.repeat(5)]))
  const calls = Array.from({ length: 100 }, (_, i) => ({
    via: 'undici',
    method: 'GET',
    url: `http://a.test/${i}`,
    status: i % 30 === 0 ? 500 : 200,
    start: i,
    duration: 2,
    requestHeaders: headers,
    responseHeaders: headers
  }))
  const many = profile('000001', { duration: 300, collectors: { 'http-client': { count: 500, calls } } })
  const page = shown('http-client', many)
  t.equal(page.querySelectorAll('tr[id]').length, 100)
  const weight = [...page.children].reduce((sum, { outerHTML }) => sum + outerHTML.length, 0)
  t.ok(weight < 150_000, `${weight} characters`)
  t.match(texts(page, '.note'), [/^100 × GET http:\/\/a.test\/:id, at the same time/, '400 more were only counted.'])
  const links = [...shown('timeline', many).querySelectorAll('.waterfall .more a')].map((link) => link.getAttribute('href'))
  t.ok(links.includes('?panel=http-client#call-31'))
})

t.test('CSP: the panel has each policy, one directive in a line', async t => {
  const headers = {
    'content-security-policy': "default-src 'self'; script-src 'self' 'nonce-a'; object-src 'none', img-src *",
    'content-security-policy-report-only': 'font-src https: a.test'
  }
  const root = shown('csp', profile('000001', { collectors: { csp: { ofRoute: ['script-src'], nonces: ['script-src'] }, response: { headers } } }))
  t.same(texts(root, 'tr'), [
    'set by the routescript-src', 'of the diagnostic pageno', 'nonces used inscript-src',
    "content-security-policydefault-src 'self';script-src 'self' 'nonce-a';object-src 'none',img-src *",
    'content-security-policy-report-onlyfont-src https: a.test'
  ])
})

t.test('links, assets, template, attributes, parameters and trace are tables', async t => {
  const links = shown('links', sample())
  t.same(texts(links, 'h3'), ['Declared by the route', 'Added while the request was handled'])
  t.same(texts(links, 'tbody tr'), ['preload/a.css{ "as": "style", "plain": true, "nopush": true }', 'nextplain'])
  t.same(texts(shown('assets', sample()), 'tr'), ['filesplain.css'])
  t.same(texts(shown('template', sample()), 'tr'), ['nameplain', 'duration1.5 ms', 'variablesplain'])
  t.same(texts(shown('attributes', sample()), 'tr'), ['templateplain'])
  t.same(texts(shown('params', sample()), 'tbody tr'), ['idplainintnone: this conversion or one before it failed', 'plain12int12'])
  t.same(texts(shown('trace', sample()), 'tr'), ['trace idplain', 'parent idplain', 'sampledyes'])
  t.same(texts(shown('otherErrors', sample()), 'h3, h4'), ['Error 1 of 1', 'plain', 'Stack traces', 'plain'])
})

t.test('data of other collectors is shown as JSON', async t => {
  t.equal(shown('custom', sample()).querySelector('pre')?.textContent, '{\n  "a": [\n    "plain"\n  ]\n}')
})

t.test('the panel of a failed collector shows the error', async t => {
  for (const [collector, panel] of [['request', 'request'], ['response', 'request'], ['router', 'router'], ['mine', 'mine'],
    ['http-client', 'http-client'], ['spans', 'spans'], ['session', 'session'], ['cors', 'cors'], ['csp', 'csp'], ['cache', 'cache'], ['locale', 'locale'], [
      'pagination', 'pagination'
    ], ['config', 'config'],
    ['links', 'links'], ['assets', 'assets'], ['template', 'template'], ['attributes', 'attributes'], ['params', 'params'], ['trace', 'trace'], [
      'otherErrors', 'otherErrors'
    ]] as const) {
    const root = shown(panel, profile('000001', { collectors: { [collector]: { error: 'it broke' } } }))
    t.equal(root.querySelector('.failure')?.textContent, 'The collector failed: it broke', collector)
  }
})

t.test('missing or odd data yields a sentence, and no exception', async t => {
  for (const collectors of [{}, { request: null, response: 3, router: 'x', performance: [1] },
    { request: { headers: null, query: 'x' }, response: { headers: 4 } }]) {
    for (const panel of panels.filter(({ panel }) => panel?.always)) t.ok(shown(panel.name, profile('000001', { collectors })).textContent?.trim(), panel.name)
  }
  for (const { name } of panels.filter(({ panel }) => panel?.always !== true)) {
    for (const data of [null, 3, 'x', [1], {},
      { keys: 1, rule: 2, headers: 'x', wanted: [], enabled: {}, fields: 5, acceptLanguage: 'x', calls: [1, {}], count: 'x' }]) {
      t.ok(shown(name, profile('000001', { collectors: { [name]: data } })).textContent?.trim(), name)
    }
  }
})

t.test('hostile text is escaped', async t => {
  const hostile = sample(HOSTILE)
  for (const panel of panelsOf(parts, hostile)) {
    const text = markup(panel, hostile)
    const root = JSDOM.fragment(text)
    t.equal(root.querySelectorAll('script, img, style, b:not(.file > b)').length, 0, panel.name)
    t.notMatch(text, /[\0\u001b\u202e]/, panel.name)
    t.match(root.textContent, /<script>alert\(1\)<\/script>/, `${panel.name} shows it`)
    t.same(
      [...root.querySelectorAll('*')].flatMap(element => element.getAttributeNames().filter(name => name.startsWith('on') || name === 'style')), [], panel.name
    )
  }
})
