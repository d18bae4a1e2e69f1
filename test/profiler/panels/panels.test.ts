import t from 'tap'
import { JSDOM } from 'jsdom'
import { firstPanel, panels, panelsOf } from '../../../plugins/profiler/panels/index.js'
import type { Profile } from '../../../plugins/profiler/profile.js'
import { profile } from '../fixture.js'
import { HOSTILE } from '../hostile.js'
import { sample } from '../sample.js'

/** Panels see what a store gives back, never the live objects. */
const stored = (profile: Profile) => JSON.parse(JSON.stringify(profile)) as Profile

function shown (name: string, profile: Profile): DocumentFragment {
  const panel = panelsOf(profile).find(panel => panel.name === name)
  if (panel === undefined) throw new Error(`no panel ${name}`)
  return JSDOM.fragment(panel.render(stored(profile)))
}

const texts = (root: ParentNode, selector: string) =>
  [...root.querySelectorAll(selector)].map(element => element.textContent?.replace(/\s+/g, ' ').trim())

t.test('the menu has every panel, and a plain one for each collector that has none', async t => {
  t.same(panelsOf(sample()).map(panel => panel.name),
    ['request', 'exceptions', 'logs', 'events', 'router', 'security', 'performance',
      'http-client', 'session', 'cors', 'csp', 'cache', 'locale', 'pagination', 'config', 'custom', 'broken'])
  t.same(panelsOf(profile('000001')), panels)
})

t.test('counts and problems', async t => {
  const facts = (profile: Profile) => panelsOf(profile).map(panel => [panel.name, panel.count?.(profile), panel.problem?.(profile)])
  t.same(facts(stored(sample())), [
    ['request', undefined, undefined], ['exceptions', 2, true], ['logs', 2, true], ['events', 4, true],
    ['router', undefined, false], ['security', 1, false], ['performance', undefined, undefined],
    ['http-client', 201, true], ['session', undefined, false], ['cors', undefined, true], ['csp', undefined, false], ['cache', undefined, false], ['locale', undefined, false], ['pagination', undefined, true], ['config', undefined, false],
    ['custom', undefined, false], ['broken', undefined, true]
  ])
  t.same(facts(profile('000001')), [
    ['request', undefined, undefined], ['exceptions', 0, false], ['logs', 0, false], ['events', 0, false],
    ['router', undefined, false], ['security', undefined, false], ['performance', undefined, undefined]
  ])
  t.equal(panels.find(panel => panel.name === 'router')?.problem?.(profile('000001', { status: 404 })), true)
})

t.test('the first panel is the one with the problem, else the request', async t => {
  t.equal(firstPanel(sample()).name, 'exceptions')
  t.equal(firstPanel(profile('000001')).name, 'request')
  t.equal(firstPanel(profile('000001', { collectors: { x: { error: 'y' } } })).name, 'x')
})

t.test('request: both messages', async t => {
  const root = shown('request', sample())
  t.same(texts(root, 'h3'), ['Request', 'Query', 'Body', 'Cookies', 'Request headers', 'Attributes', 'Response', 'Response headers'])
  t.same(texts(root, '[aria-label="Request"] tr'), ['methodGET', 'urlplain', 'ip127.0.0.1', 'httpVersionplain'])
  t.same(texts(root, '[aria-label="Request headers"] tr'), ['hostplain', 'plainplainplain'])
  t.same(texts(root, '[aria-label="Response"] tr'), ['status404', 'size12'])
  t.same(texts(root, '[aria-label="Response headers"] tr'), ['content-typeplain', 'content-security-policydefault-src plain'])
  t.match(root.textContent, /The client sent no cookies\./)
})

t.test('request: a body that is no object is shown as it came', async t => {
  for (const [body, expected] of [['a\n b', 'a\n b'], [[1], '[\n  1\n]'], [0, '0']] as const) {
    t.equal(shown('request', profile('000001', { collectors: { request: { body } } })).querySelector('pre')?.textContent, expected)
  }
})

t.test('request: files, and what was cut', async t => {
  const files = [{ name: 'photo', filename: 'beach.png', type: 'image/png', size: 15 }]
  const root = shown('request', profile('000001', { collectors: { request: { body: {}, bodyCut: 1234, files } } }))
  t.same(texts(root, '[aria-label="Files"] td'), ['photo', 'beach.png', 'image/png', '15', ''])
  t.match(root.textContent, /About 1,234 bytes of the body were left out\./)
})

t.test('exceptions: the chain, its frames, and the line', async t => {
  const root = shown('exceptions', sample())
  t.same([...root.children].map(article => article.querySelector('h3')?.textContent), ['[1/2] LookupError', '[2/2] NotFoundError'])
  t.same(texts(root, '.frames > li > .file, .frames > li > details > summary > .file'), ['/app/node_modules/fastify/route.js:10:2', '/app/plugins/router.ts:3:7'])
  t.same(texts(root, '.marked'), ['throw error'])
  t.equal(root.querySelector('.marked')?.getAttribute('value'), '3')
  t.equal(root.querySelectorAll('.frames details[open]').length, 1)
  t.same(texts(root, '.facts'), ['code NOT_FOUND · status 404'])
  t.equal(root.querySelectorAll('.exception .exception').length, 2, 'the members of an aggregate')
})

t.test('logs: level, channel, message and context of every line', async t => {
  const root = shown('logs', sample())
  t.same(texts(root, 'tbody tr'), ['03:04:05.678 inforequest incoming plainContext{ "plain": "plain" }', '03:04:05.679 errorplain plain'])
  t.same([...root.querySelectorAll('tbody tr')].map(row => row.className), ['log log-info', 'log log-error'])
})

t.test('logs: a very long log is shown from its end', async t => {
  const logs = Array.from({ length: 1_200 }, (_, i) => ({ time: '', level: 'info' as const, channel: 'a', message: `m${i}`, context: {} }))
  const root = shown('logs', profile('000001', { logs }))
  t.equal(root.querySelectorAll('tbody tr').length, 1_000)
  t.match(root.querySelector('.note')?.textContent, /^200 earlier lines/)
  t.match(root.querySelector('tbody tr:last-child')?.textContent, /m1199/)
})

t.test('events: passes, stages, outcomes and what changed', async t => {
  const root = shown('events', sample())
  t.same(texts(root, 'h3'), ['Main pass', 'Error pass'])
  t.same(texts(root, '.stage'), ['kernel.request', 'kernel.controller_arguments', 'kernel.response'])
  t.same(texts(root, '.event td:first-child'), ['1', '2', '3', '4'])
  t.same(texts(root, '.event > th'), ['cors', 'router', 'error', 'clickjacking'])
  t.same(texts(root, '.outcome'), ['skipped', 'raised', 'ran', 'ran'])
  t.same(texts(root, '.event td.text'), [
    'not configured plain', '', 'status: 200 → 404attributes: plain',
    'x-frame-options: DENYvary: plain → plain, betag: plain (removed)'
  ])
  const bars = [...root.querySelectorAll('rect')].map(bar => Number(bar.getAttribute('x')) + Number(bar.getAttribute('width')))
  t.equal(bars.length, 3, 'what was skipped took no time')
  t.ok(bars.every(end => end > 0 && end <= 100), String(bars))
})

t.test('events: the order is never changed, even where a stage comes twice', async t => {
  const base = { pass: 'main', outcome: 'ran', start: 0, duration: 0 } as const
  const root = shown('events', profile('000001', {
    duration: 0,
    events: [{ ...base, stage: 'kernel.request', listener: 'a' }, { ...base, stage: 'kernel.response', listener: 'b' }, { ...base, stage: 'kernel.request', listener: 'c' }]
  }))
  t.same(texts(root, '.event > th'), ['a', 'b', 'c'])
  t.notMatch(root.querySelector('rect')?.outerHTML, /NaN|Infinity/)
})

t.test('router: the match, its parameters, and what the router knew', async t => {
  const root = shown('router', sample())
  t.same(texts(root, 'tr'), ['nameplain', 'pattern/plain', 'methodsGET', 'handlerroutes/a.ts:3', 'plainplain', 'RouteMethodsPatternWhy notDistance', 'plainGET/aplain2', 'knownplain'])
  t.match(shown('router', profile('000001')).textContent, /No route matched\./)
})

t.test('router: why no route took the request', async t => {
  const tried = [{ name: 'GET /a', methods: ['GET'], pattern: '/a', why: 'segment 1 is "a", not "b"', distance: 1 }]
  const root = shown('router', profile('000001', { status: 404, collectors: { router: { matched: null, tried, more: 1_200 } } }))
  t.same(texts(root, 'h3'), ['Matched route', 'Routes that were tried, the nearest first'])
  t.same(texts(root, 'tbody tr'), ['GET /aGET/asegment 1 is "a", not "b"1'])
  t.match(root.textContent, /1,200 more routes are further away\./)
})

t.test('performance: the total, the slowest listener, and what was collected', async t => {
  const root = shown('performance', sample())
  t.same(texts(root, '.pairs tr'), [
    'total4.2 ms', 'all listeners0.4 ms', 'slowest listenercors (kernel.request), 0.1 ms', 'handler0 ms', 'heap{ "used": 1 }', 'noteplain'
  ])
  t.same(texts(root, 'table[aria-label="Listeners"] tbody tr'), ['routerkernel.requestraised0.1 ms', 'errorkernel.controller_argumentsran0.1 ms', 'clickjackingkernel.responseran0.1 ms'])
})

t.test('performance: what the process used, and that it is the process', async t => {
  const process = { cpuUser: 1.5, cpuSystem: 0.25, heapBefore: 5_000, heapAfter: 12_345_678, loopDelay: 0 }
  const root = shown('performance', profile('000001', { collectors: { performance: { total: 4, handlerStart: 1, handler: 2, serialization: 0.5, firstByte: 3.25, process } } }))
  t.same(texts(root, '.pairs tr'), [
    'total1.25 ms', 'handler began at1 ms', 'handler2 ms', 'serialisation0.5 ms', 'first byte at3.25 ms',
    'CPU time1.5 ms user, 0.25 ms system', 'heap in use5,000 bytes before, 12.3 MB after', 'event loop delayed by up to0 ms'
  ])
  t.match(root.textContent, /Of the whole process while the request ran, other requests included\./)
})

t.test('session, CORS, cache, locale and pagination: in words', async t => {
  const rowsOf = (name: string) => texts(shown(name, sample()), '.pairs tr')
  t.same(rowsOf('session'), ['idhidden', 'sessionloaded from the store', 'cookie sentyes', 'changedyes', 'savedyes', 'plain****** (string)'])
  t.same(rowsOf('cors').slice(0, 4), ['allowedno', 'whyplain', 'originplain', 'preflightyes'])
  t.same(rowsOf('cache'), ['outcomethe copy of the client is fresh: 304', 'preconditionplain', 'answered behindthe security of the route', 'for its client alone, asplain',
    'ETagplain', 'Last-Modifiednone', 'Cache-Controlplain', 'Expiresnone', 'Varyplain'])
  t.same(rowsOf('locale'), ['localeplain', 'decided byplain', 'defaultplain', 'enabled localesplain', 'Accept-Languageplain', 'servicesplain'])
  t.same(rowsOf('pagination'), ['page4 of 2', 'items of a page2', 'items ahead6', 'items altogether3', 'sorted byplain, asc', 'largest page9', 'sortable byplain', 'fields of the queryplain'])
  t.equal(shown('session', profile('000001', { collectors: { session: { used: false, cookie: true } } })).textContent, 'The client has a session; nobody looked at it.')
})

t.test('HTTP client: each call, and how many were only counted', async t => {
  const root = shown('http-client', sample())
  t.same(texts(root, 'table[aria-label="Requests"] > tbody > tr > td:not(.text)'), ['500', '1 ms', '2 ms'])
  t.match(root.textContent, /200 more were only counted\./)
  const calls = [{ via: 'undici', method: 'GET', url: 'http://a.test/', status: 204, start: 1, duration: 2, requestHeaders: {}, responseHeaders: {} }, { method: 'PUT', url: 'http://a.test/', status: null, start: 1, duration: null }]
  const fine = profile('000001', { collectors: { 'http-client': { count: 2, calls } } })
  t.same(texts(shown('http-client', fine), 'table[aria-label="Requests"] > tbody > tr > td:not(.text)'), ['204', '1 ms', '2 ms', 'pending', '1 ms', '–'])
  t.equal(panelsOf(fine).find(({ name }) => name === 'http-client')?.problem?.(fine), false)
})

t.test('CSP: each directive of each policy in words', async t => {
  const headers = { 'content-security-policy': "default-src 'self'; script-src 'self' 'nonce-a' 'unsafe-inline'; object-src 'none'; upgrade-insecure-requests, img-src *", 'content-security-policy-report-only': 'font-src https: a.test' }
  const root = shown('csp', profile('000001', { collectors: { csp: { nonces: ['script-src'] }, response: { headers } } }))
  t.same(texts(root, 'h3'), ['Origin', 'Enforced', 'Enforced', 'Reported only'])
  t.same(texts(root, 'tbody tr td:last-child'), [
    'the options', 'script-src',
    'Whatever has no directive of its own: this origin',
    'Scripts: this origin, what carries the nonce of this response, whatever stands inline, for old browsers alone: the nonce or hash beside it switches it off',
    'Plugins (object, embed): nowhere', 'Requests for http: are made by https: instead.',
    'Images: any host', 'Fonts: any host by https:, a.test'
  ])
  t.match(shown('csp', profile('000001', { collectors: { csp: { nonces: [] } } })).textContent, /The response carries no policy/)
})

t.test('any other collector: its data', async t => {
  t.equal(shown('custom', sample()).querySelector('pre')?.textContent, '{\n  "a": [\n    "plain"\n  ]\n}')
})

t.test('a collector that failed says so in its panel', async t => {
  for (const [collector, panel] of [['request', 'request'], ['response', 'request'], ['router', 'router'], ['performance', 'performance'], ['mine', 'mine'],
    ['http-client', 'http-client'], ['session', 'session'], ['cors', 'cors'], ['csp', 'csp'], ['cache', 'cache'], ['locale', 'locale'], ['pagination', 'pagination'], ['config', 'config']] as const) {
    const root = shown(panel, profile('000001', { collectors: { [collector]: { error: 'it broke' } } }))
    t.equal(root.querySelector('.failure')?.textContent, 'The collector failed: it broke', collector)
  }
})

t.test('what is missing is told, and never an error', async t => {
  for (const collectors of [{}, { request: null, response: 3, router: 'x', performance: [1] }, { request: { headers: null, query: 'x' }, response: { headers: 4 } }]) {
    for (const panel of panels) t.ok(shown(panel.name, profile('000001', { collectors })).textContent?.trim(), panel.name)
  }
  for (const name of ['http-client', 'session', 'cors', 'csp', 'cache', 'locale', 'pagination', 'config']) {
    for (const data of [null, 3, 'x', [1], {}, { keys: 1, rule: 2, headers: 'x', wanted: [], enabled: {}, fields: 5, acceptLanguage: 'x', calls: [1, {}], count: 'x' }]) {
      t.ok(shown(name, profile('000001', { collectors: { [name]: data } })).textContent?.trim(), name)
    }
  }
})

t.test('hostile text stays text', async t => {
  const hostile = sample(HOSTILE)
  for (const panel of panelsOf(hostile)) {
    const markup = panel.render(stored(hostile))
    const root = JSDOM.fragment(markup)
    t.equal(root.querySelectorAll('script, img, style, b').length, 0, panel.name)
    t.notMatch(markup, /[\0\u001b\u202e]/, panel.name)
    t.match(root.textContent, /<script>alert\(1\)<\/script>/, `${panel.name} shows it`)
    t.same([...root.querySelectorAll('*')].flatMap(element => element.getAttributeNames().filter(name => name.startsWith('on') || name === 'style')), [], panel.name)
  }
})
