import t from 'tap'
import { JSDOM } from 'jsdom'
import { outcomeSentence, overview as overviewPanel } from '../../../src/parts/overview/index.js'
import { summarizeProfile } from '../../../src/store/summary.js'
import { failure, profile } from '../fixture.js'
import { html } from '../../../src/view/text.js'
import { profileMarkdown } from '../../support/marks.js'
import { markup, texts } from '../support.js'

const event = (listener: string, outcome: string, stage = 'kernel.request') =>
  ({ stage, listener, pass: 'main', outcome, start: 1, duration: 0.5 }) as never
const call = (url: string, status: number, duration: number) =>
  ({ method: 'GET', url, status, start: 3, answered: duration, duration })
const sentBy = (name: string) =>
  ({ sentBy: '/app/a.js:77:5', sentFrom: { function: name, file: '/app/a.js', line: 77, column: 5, own: true, excerpt: [] } })
const refused = { name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:3990', frames: [], stack: '' }
const proxied = [call('http://a.test/b', 404, 10), call('http://a.test/c', 500, 10), call('http://a.test/late', 404, 30)]
const whole = failure('000001', {
  status: 500,
  duration: 20,
  route: { name: 'orders', pattern: '/', params: {}, methods: ['GET'], handler: '/app/routes/orders.ts:12' },
  logs: [{ time: '', level: 'info', channel: 'app', message: '', context: {} }, { time: '', level: 'debug', channel: 'event', message: '', context: {} }],
  collectors: {
    performance: { handlerStart: 2, handler: 15, firstByte: 18 },
    'http-client': { count: 2, calls: [call('http://a.test/', 200, 3), call('http://b.test/', 503, 9)] }
  },
  parent: '00000a',
  replayOf: '00000b'
})

const facts = (root: ParentNode) => texts(root, '.facts-list dt').map((name, i) => `${name}: ${texts(root, '.facts-list dd')[i]}`)

t.test('the overview has the main facts of the request', async t => {
  const parent = summarizeProfile(profile('00000a', { method: 'POST' }))
  const late = { name: 'Error', message: 'late', frames: [], stack: '' }
  const children = [summarizeProfile(profile('00000c', { exceptions: [late] } as never))]
  const editor = (file: string, line: number): string => `vscode://file${file}:${line}`
  const root = JSDOM.fragment(markup(overviewPanel, whole, { editor, base: '/_profiler', parent, children, differences: html`<p id="d"></p>` }))
  t.same(facts(root), [
    'Slowest part: handler orders 15 msGET / · b.test 9 ms', 'Calls: 2 calls, 1 failedGET http://b.test/: 503', 'Handler: /app/routes/orders.ts:12'
  ])
  t.ok(root.querySelector('#d'), 'the differences')
  t.same([...root.querySelectorAll('.relatives .status')].map(({ className }) => className), ['status status-2', 'status status-4'])
  t.same([...root.querySelectorAll('a')].filter((link) => link.closest('.waterfall') === null).map((link) => link.getAttribute('href')), [
    'vscode://file/app/plugins/router.ts:3', '?panel=router', '?panel=http-client#call-2', '?panel=http-client',
    'vscode://file/app/routes/orders.ts:12',
    '/_profiler/00000a', '/_profiler/00000b', '/_profiler/00000b/compare/000001', '/_profiler/00000c', '/_profiler/search?parent=000001'
  ])
  const alone = JSDOM.fragment(markup(overviewPanel, whole, { parent: null }))
  t.match(alone.textContent, /Profile 00000a is not stored any more\./)
})

t.test('a job that has not ended is summarized by what it waits for', async t => {
  const wait = { kind: 'await', name: 'fetchPrices', source: '/app/src/prices.ts:14', start: 200 }
  const job = (collectors: Record<string, unknown>) => profile('000001', {
    kind: 'job', name: 'import', outcome: 'running', status: 0, duration: 12_200, collectors
  })
  const waiting = { in: null, for: [wait], traced: true }
  t.match(outcomeSentence(job({ waiting })), /^The job import had not ended after 12\.2 s\. Not ended: await in fetchPrices, .*src\/prices\.ts:14, for 12 s\.$/)
  const call = { kind: 'outgoing HTTP call', name: 'GET http://audit.test/', source: '/app/src/audit.ts:3', start: 100 }
  t.match(outcomeSentence(job({ waiting: { ...waiting, for: [call, wait] } })), /Not ended: await in fetchPrices/, 'not a call that may not be awaited')
  t.match(outcomeSentence(job({ waiting: { ...waiting, for: [null, wait] } })), /Not ended: await in fetchPrices/, 'odd data')
  t.equal(outcomeSentence(job({ waiting: { ...waiting, for: [] } })), 'The job import had not ended after 12.2 s.')
})

t.test('what a request that has not ended waits for is before what blocked it', async t => {
  const block = { start: 1, end: 71, duration: 68 }
  const budget = { work: [], javascript: 70, sending: 0, waiting: 6_000, collection: 0, isShared: false, blocks: [block], collections: [] }
  const waiting = { in: { name: 'the handler', source: null, start: 0 }, for: [{ kind: 'query', name: 'select 1', source: null, start: 60 }], traced: false }
  const lead = (changes: object) => JSDOM.fragment(markup(overviewPanel, profile('000001', {
    duration: 6_560, collectors: { performance: { budget }, waiting }, ...changes
  }))).querySelector('.lead')
  const open = lead({ status: 0 })
  t.equal(open?.className, 'lead plain')
  t.match(open?.textContent, /^The response had not ended after 6\.56\ss\. Not ended: query select 1, for 6\.5\ss\.$/)
  t.match(lead({ status: 499 })?.textContent, /^The client closed the connection/)
  t.match(lead({ status: 200 })?.textContent, /^The event loop was blocked for 68\sms/)
})

t.test('what the application may not expect is before the time of a success', async t => {
  const budget = { work: [], javascript: 2.47, sending: 0, waiting: 0, collection: 0, isShared: false, blocks: [], collections: [] }
  const changes = [{ part: 'response', text: 'response.email was removed (additional)', schema: 'response/200/properties' }]
  const lead = (collectors: object, changed: object = {}) => JSDOM.fragment(markup(overviewPanel,
    profile('000001', { collectors: { performance: { budget }, ...collectors }, ...changed }))).querySelector('.lead')
  const dropped = lead({ wire: { changes } })
  t.equal(dropped?.textContent, 'The response schema dropped response.email.')
  t.equal(dropped?.className, 'lead warn')
  t.match(dropped?.nextElementSibling?.textContent, /event loop was busy/)
  const streamed = { isHijacked: false, isClosedByClient: false, chunks: 5, bytes: 45 }
  t.equal(lead({ wire: { changes }, response: { streamed } })?.textContent, dropped?.textContent, 'also of a stream')
  t.equal(lead({ response: { streamed } })?.className, 'lead good', 'what a stream has sent may be expected')
  t.match(lead({ wire: { changes } }, { status: 403 })?.textContent, /^GET returned 403/, 'a refusal is worse')
})

t.test('the overview and the Markdown have the same sentences in one order', async t => {
  const blocks = [{ start: 1, end: 71, duration: 68 }]
  const budget = { work: [], javascript: 70, sending: 0, waiting: 130, collection: 0, isShared: false, blocks, collections: [] }
  const changes = [{ part: 'response', text: 'response.email was removed (additional)', schema: 'response/200/properties' }]
  const streamed = { isHijacked: false, isClosedByClient: false, chunks: 5, bytes: 45 }
  const caughtErrors = { count: 1, lines: [{ count: 1, function: '', source: 'src/a.js:1', errors: [{ name: 'Error', message: 'no' }] }] }
  const quick = { ...budget, javascript: 2, blocks: [] }
  for (const [changed, expected] of [
    [{}, [/^GET returned 200 OK/]],
    [{ status: 404 }, [/^GET returned 404/]],
    [
      { collectors: { performance: { budget: quick }, exceptions: { summary: 'The response was cut off after 5 bytes.', isCutOff: true } } },
      [/^GET returned 200 OK in 200 ms\. The response was cut off/, /^200 ms: /]
    ],
    [{ collectors: { caughtErrors } }, [/^GET returned 200 OK/, /caught/]],
    [{ collectors: { performance: { budget: quick }, caughtErrors, response: { streamed } } }, [/^The response streamed/, /^200 ms: /, /caught/]],
    [
      { collectors: { performance: { budget: quick }, wire: { changes }, response: { streamed } } },
      [/^The response schema dropped/, /^The response streamed/, /^200 ms: /]
    ],
    [{ collectors: { performance: { budget }, wire: { changes } } }, [/^The event loop was blocked/, /^The response schema dropped/, /./]],
    [{ status: 404, collectors: { performance: { budget } } }, [/^The event loop was blocked/, /^GET returned 404/, /./]],
    [{ status: 0, collectors: { performance: { budget } } }, [/^The response had not ended/, /^The event loop was blocked/, /./]],
    [{ status: 499, collectors: { performance: { budget } } }, [/^The client closed/, /^The event loop was blocked/, /./]],
    [{ duration: 10, collectors: { exceptions: { late: 2 } } }, [/^After the response: 2 errors\. GET returned/]]
  ] as const) {
    const stored = profile('000001', { duration: 200, ...changed } as never)
    const page = JSDOM.fragment(markup(overviewPanel, stored)).querySelectorAll('.lead, .lead ~ p')
    const shown = [...page].map(({ textContent }) => textContent.replace(/\s/g, ' '))
    t.match(shown, expected)
    t.equal(shown.length, expected.length)
    const [, section = ''] = /\n## What happened\n\n([^]*?)\n\n(?:## |All of)/.exec(profileMarkdown(stored)) ?? []
    t.same(section.replaceAll(/[\\`]/g, '').split('\n\n'), shown)
  }
})

t.test('one sentence summarizes the request', async t => {
  for (const [changes, expected] of [
    [{}, 'GET returned 200 OK in 1.25 ms.'],
    [{ status: 204, events: [event('cors', 'answered')] }, 'GET returned 204 No Content in 1.25 ms. The listener "cors" sent the response.'],
    [
      { status: 403, collectors: { response: sentBy('requireAdmin') } },
      'GET returned 403 Forbidden in 1.25 ms. requireAdmin (/app/a.js:77) sent the response.'
    ],
    [{ status: 403, collectors: { response: sentBy('async <anonymous>') } }, 'GET returned 403 Forbidden in 1.25 ms. /app/a.js:77 sent the response.'],
    [{ status: 401, events: [event('auth', 'raised', 'onRequest')] }, 'GET returned 401 Unauthorized in 1.25 ms. The onRequest hook "auth" raised an error.'],
    [
      { status: 404, duration: 20, collectors: { 'http-client': { count: 3, calls: proxied } } },
      'GET returned 404 Not Found in 20 ms. GET http://a.test/b had this status, too.'
    ],
    [
      { status: 500, exceptions: [refused, { ...refused, name: 'FastifyError' }] },
      'FastifyError: connect ECONNREFUSED 127.0.0.1:3990.'
    ],
    [
      { status: 500, exceptions: [{ ...refused, message: '', code: 'ECONNREFUSED' }, { ...refused, name: 'UpstreamError', message: '' }] },
      'UpstreamError. Its root cause is Error: ECONNREFUSED.'
    ],
    [
      { collectors: { 'http-client': { count: 1, calls: [{ ...call('http://a.test/cut', 200, 1), error: 'terminated' }] } } },
      'GET returned 200 OK in 1.25 ms.'
    ],
    [{ status: 499 }, 'The client closed the connection after 1.25 ms, before the response.'],
    [
      { status: 499, exceptions: [{ name: 'Error', message: 'boom', frames: [], stack: '' }] },
      'The client closed the connection after 1.25 ms, before the response. An error was recorded: Error: boom.'
    ],
    [
      {
        status: 0,
        collectors: { exceptions: { summary: 'The server closed the connection before the response was sent.' } },
        exceptions: [{ name: 'Error', message: '', code: 'ERR_STREAM_PREMATURE_CLOSE', frames: [], stack: '' }]
      },
      'The application sent no response in 1.25 ms. The server closed the connection before the response was sent. ' +
        'An error was recorded: Error: ERR_STREAM_PREMATURE_CLOSE.'
    ],
    [{ status: 799 }, 'GET returned 799 in 1.25 ms.'],
    [
      { exceptions: [{ name: 'Error', message: 'Sent twice?', frames: [], stack: '' }] },
      'GET returned 200 OK in 1.25 ms, and an error was recorded: Error: Sent twice?'
    ]
  ] as const) t.equal(outcomeSentence(profile('000001', changes as never)), expected)
  t.equal(outcomeSentence(whole), 'NotFoundError: No route found for ' +
    '"GET http://127.0.0.1:3000/robots.txt" (/app/plugins/router.ts:3). Its root cause is LookupError: No routes found for "/robots.txt/".')
})

t.test('what Hindsight does for the page and the profile is not the slowest part', async t => {
  const stage = 'kernel.controller_arguments'
  const took = (listener: string, duration: number, pass = 'main') => ({ ...event(listener, 'ran', stage) as object, pass, duration }) as never
  const own = { performance: { hindsightStart: 2, hindsight: 80 } }
  for (const [events, expected] of [
    [[took('error', 60, 'error'), took('firewall', 3), took('request-data-collector', 9)], ['Slowest part: firewall 3 ms']],
    [[took('error', 60, 'error'), took('debug-toolbar', 9)], []]
  ] as const) {
    const root = JSDOM.fragment(markup(overviewPanel, failure('000001', { events: [...events], collectors: own })))
    t.same(facts(root).filter((fact) => fact.startsWith('Slowest')), expected)
  }
})

t.test('what came after the response is in the sentence, what failed first, each part with a link', async t => {
  const query = (start: number, error?: object) => ({ system: 'sqlite', statement: 'select 1', start, duration: 1, error })
  const line = (level: string, offset: number) => ({ time: '', level, channel: 'app', message: 'm', context: {}, offset }) as never
  const read = (kind?: 'job', failed = true, early = 'info') => {
    const root = JSDOM.fragment(markup(overviewPanel, profile('000001', {
      duration: 10,
      ...kind && { kind, name: 'mail', outcome: 'done' },
      logs: [line(early, 5), line('info', 20), ...failed ? [line('error', 20)] : []],
      collectors: {
        exceptions: { late: failed ? 2 : 0 },
        queries: { count: 2, failed: 0, queries: [query(2), query(20)] },
        'http-client': { count: 2, calls: [{ ...call('/', 200, 1), start: 20 }, ...failed ? [{ ...call('/', 404, 1), start: 20 }] : []] }
      }
    })))
    return { lead: root.querySelector('.lead'), text: root.querySelector('.lead')?.textContent?.trim() ?? '' }
  }
  const { lead, text } = read()
  t.match(text, /^After the response: 2 errors, 1 error in the log, 1 failed call, 1 query, 1 call\. GET returned/, 'what failed is the first sentence')
  t.equal(lead?.className, 'lead warn')
  t.same([...lead?.querySelectorAll('a') ?? []].map((link) => link.getAttribute('href')),
    ['?panel=exceptions', '?panel=logs', '?panel=http-client', '?panel=queries', '?panel=http-client'])
  t.match(read(undefined, true, 'error').text, /^An error was logged: m\. After the response: 2 errors, 1 error in the log, /)
  const plain = read(undefined, false)
  t.match(plain.text, /^GET returned 200 OK in 10\sms\. After the response: 1 query, 1 call\.$/)
  t.equal(plain.lead?.className, 'lead good')
  t.match(read('job').text, /After the end: 2 errors/)
})

t.test('what a stream has sent is the first sentence of a success', async t => {
  const streamed = { isHijacked: false, isClosedByClient: false, chunks: 5, bytes: 45 }
  const root = JSDOM.fragment(markup(overviewPanel, profile('000001', { collectors: { response: { streamed } } })))
  t.match(root.querySelector('.lead')?.textContent, /^The response streamed 5 chunks, 45\sbytes; ended by the server\.$/)
  const cut = { ...streamed, isCutOff: true }
  const cutRoot = JSDOM.fragment(markup(overviewPanel, profile('000001', { collectors: { response: { streamed: cut } } })))
  t.match(cutRoot.textContent, /The response streamed 5 chunks, 45\sbytes without its headers; cut off by the server\./)
})

t.test('the slowest part has a share of the time, before the response had ended', async t => {
  const hook = (start: number, duration: number, stage: string) => ({ ...event('a', 'ran', stage) as object, start, duration }) as never
  const part = (...events: never[]) => facts(JSDOM.fragment(markup(overviewPanel, profile('000001', { duration: 100, events }))))
  t.match(part(hook(1, 40, 'onRequest')), [/^Slowest part: onRequest a/])
  t.same(part(hook(1, 4, 'onRequest')), [], 'the time went elsewhere')
  t.same(part(hook(99, 40, 'onResponse')), [], 'after the response')
})

t.test('what is near a request without a route, and what is wrong with a body, is in the overview', async t => {
  const tried = [{ name: 'GET /orders', methods: ['GET'], pattern: '/orders', why: 'segment 1 differs', isNear: true }, { name: 'GET /', isNear: false }]
  const router = { tried }
  const sectionsOf = (changes: object) => texts(JSDOM.fragment(markup(overviewPanel, profile('000001', changes))), '.part')
    .filter((text) => /^(?:Similar|Rejected)/.test(text))
  t.same(sectionsOf({ status: 404, route: null, collectors: { router } }), ['Similar routesRouteMismatchGET /orderssegment 1 differs'])
  t.same(sectionsOf({ status: 404, route: whole.route, collectors: { router } }), [])
  const fields = [{ field: 'a', received: '1', rule: 'type', message: 'must be string' }]
  const exceptions = [{ name: 'E', message: 'm', frames: [], stack: '', rejected: { part: 'body', fields } }]
  t.same(sectionsOf({ status: 400, exceptions }), ['RejectedFieldReceivedMessagea1must be string'])
})

t.test('a bar has the colors of the timeline, and more than one share', async t => {
  const bar = (work: object[]) => {
    const budget = { work, javascript: 2, sending: 0, waiting: 0, collection: 0, isShared: false, blocks: [], collections: [] }
    const root = JSDOM.fragment(markup(overviewPanel, profile('000001', { collectors: { performance: { budget } } })))
    return [...root.querySelectorAll('.budget rect')].map(({ classList }) => classList.value)
  }
  t.same(bar([{ one: 'call', many: 'calls', count: 1, duration: 3 }]), ['bar-call', 'bar-handler'])
  t.same(bar([]), [])
})
