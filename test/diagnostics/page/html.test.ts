import { JSDOM } from 'jsdom'
import t from 'tap'
import { flattenError } from '../../../plugins/diagnostics/flatten-error.js'
import { renderReport } from '../../../plugins/diagnostics/render.js'
import type { FlattenedException, StackFrame } from '../../../plugins/diagnostics/exception.js'
import type { ErrorReport } from '../../../plugins/diagnostics/report.js'
import { record, sampleReport } from '../sample.js'

const NONCE = { script: 'c2NyaXB0', style: 'c3R5bGU=' }

function page (changes: Partial<ErrorReport> = {}): Document {
  return new JSDOM(renderReport(sampleReport(changes), 'html', NONCE)).window.document
}

function texts (document: Document, selector: string): string[] {
  return [...document.querySelectorAll(selector)].map((element) => (element.textContent ?? '').replace(/\s+/g, ' ').trim())
}

function frame (file: string, own: boolean, line = 3): StackFrame {
  const excerpt = { start: line - 1, lines: ['before', '  here()', 'after'] }
  return { file, line, column: 5, function: 'fn', own, ...(own && { excerpt }) }
}

function exception (changes: Partial<FlattenedException> = {}): FlattenedException {
  return { name: 'Error', message: 'text', frames: [], stack: 'Error: text', ...changes }
}

t.test('headline, sections and counts', async (t) => {
  const document = page()
  const message = 'No route found for "GET http://127.0.0.1:3000/robots.txt"'
  t.equal(document.title, `${message} (404 Not Found)`)
  t.same(texts(document, 'h1'), [message])
  t.same(texts(document, 'main > section > h2'), ['Exceptions 2', 'Logs 2 1 error', 'Stack Traces 2'])
  t.same([...document.querySelectorAll('main > section')].map((section) => section.id), ['exceptions', 'logs', 'stack-traces'])
  for (const section of document.querySelectorAll('[aria-labelledby]')) {
    t.ok(document.getElementById(section.getAttribute('aria-labelledby') ?? ''), section.id)
  }
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')) {
    t.ok(document.getElementById(link.hash.slice(1)), `${link.hash} leads somewhere`)
  }
  t.same(texts(document, 'nav a'), ['Exceptions 2', 'Logs 2', 'Stack Traces 2', 'Request'])
  t.match(texts(document, '.raiser'), ['raised by router in kernel.request'])
  t.equal(document.querySelector('a[href$="/_profiler/3fa94c"]')?.textContent, '3fa94c')
  t.match(texts(document, '#request dd'), ['GET', 'http://127.0.0.1:3000/robots.txt?page=2', '127.0.0.1'])
})

t.test('the chain, root cause first', async (t) => {
  const document = page()
  t.same(texts(document, '.exception h3'), ['[1/2] RouteLookupError', '[2/2] NotFoundError'])
  t.same(texts(document, '.exception .message')[0], 'No routes found for "/robots.txt/"')
  t.match(texts(document, '.exception')[1], /status 404/)
  t.same(texts(document, '.trace pre').map((text) => text.slice(0, 16)), ['RouteLookupError', 'NotFoundError: N'])
})

t.test('one style and one script, each with its nonce, and nothing inline', async (t) => {
  const document = page()
  t.same([...document.querySelectorAll('style, script')].map((element) => element.getAttribute('nonce')), [NONCE.style, NONCE.script])
  const attributes = [...document.querySelectorAll('*')].flatMap((element) => [...element.attributes]).map((attribute) => attribute.name)
  t.same(attributes.filter((name) => name === 'style' || name.startsWith('on')), [])
  t.same([...document.querySelectorAll('[src], link')].map((element) => element.getAttribute('href')), ['data:,'], 'nothing is fetched, not even an icon')
  t.notMatch(document.querySelector('script')?.textContent, /innerHTML|outerHTML|insertAdjacentHTML/)
})

t.test('own frames in the open, the others folded with their count', async (t) => {
  const frames = [
    frame('/x/node_modules/@scope/dep/a.js', false), frame('node:events', false), frame(`${process.cwd()}/routes/a.ts`, true),
    frame(`${process.cwd()}/routes/b.ts`, true), frame('/x/node_modules/fastify/b.js', false)
  ]
  const document = page({ exceptions: [exception({ frames, framesDropped: 7 })] })
  t.same(texts(document, '.fold > details > summary'), ['2 frames outside your code @scope/dep, node', '1 frame outside your code fastify'])
  t.equal(document.querySelectorAll('.fold > details[open]').length, 0)
  t.same(texts(document, '.own summary'), ['routes/a.ts:3:5 fn', 'routes/b.ts:3:5 fn'])
  t.same([...document.querySelectorAll('.own details')].map((details) => details.hasAttribute('open')), [true, false])
  t.same(texts(document, '.own:nth-child(2) .number'), ['2', '→ 3', '4'])
  t.same(texts(document, '.own:nth-child(2) mark .source'), ['here()'])
  t.match(texts(document, '.exception'), [/7 more frames are left out/])
  t.match(texts(document, '.culprit'), ['in routes/a.ts:3'])
})

t.test('an AggregateError as a tree', async (t) => {
  const error = new AggregateError([new Error('first', { cause: new AggregateError(['inner'], 'nested') }), 'second'], 'all')
  const document = page({ exceptions: flattenError(error) })
  t.same(texts(document, '#exception-1 > .members > summary'), ['2 errors inside'])
  t.same(texts(document, '#exception-1 > .members > ol > li > .exception > header h4'), ['[1/2] AggregateError', '[2/2] Error', '[1/1] Thrown string'])
  t.same(texts(document, '.members .members .message'), ['inner'])
  t.same(texts(document, '#stack-traces h2'), ['Stack Traces 5'])
})

t.test('logs', async (t) => {
  const document = page({ logs: [record('debug', 'one'), record('info', 'two', { deep: { a: [1] } }), record('fatal', 'three')] })
  t.same(texts(document, '#logs tbody tr.info td').slice(0, 3), ['05:56:30.123', 'info', 'request'])
  t.equal(document.querySelector('#logs tr.info pre')?.textContent, '{\n  "deep": {\n    "a": [\n      1\n    ]\n  }\n}')
  t.same(texts(document, '#logs label'), ['All 3', 'Info and up 2'])
  t.equal(document.querySelectorAll('#logs input[type=radio]:checked').length, 1)
  t.match(texts(page({ logs: [] }), '#logs'), ['Logs 0 No line was logged.'])
})

t.test('10,000 log lines are cut, the grave ones kept', async (t) => {
  const logs = Array.from({ length: 10_000 }, (_, i) => record(i === 0 ? 'error' : 'debug', `line ${i}`))
  const document = page({ logs })
  const shown = texts(document, '#logs .text')
  t.equal(shown.length, 1_000)
  t.same([shown[0], shown[1], shown.at(-1)], ['line 0', 'line 9001', 'line 9999'])
  t.match(texts(document, '.omission'), [/^9,000 lines are left out here.* profile/])
  t.match(texts(document, '#logs h2'), ['Logs 10000 1 error'])
})

t.test('hints', async (t) => {
  const document = page({ hints: [{ title: 'Add a route', text: 'Like this.', code: 'app.get()\n' }] })
  t.same(texts(document, 'main > .hints:first-child h2'), ['Add a route'])
  t.equal(document.querySelector('.hint pre')?.textContent, 'app.get()\n')
  t.equal(page().querySelector('.hints'), null)
})

t.test('what is missing leaves no trace', async (t) => {
  const { raisedBy: _raisedBy, profile: _profile, ...report } = sampleReport({ exceptions: [] })
  const document = new JSDOM(renderReport(report, 'html', NONCE)).window.document
  t.same(texts(document, 'h1'), ['Not Found'])
  t.equal(document.querySelector('.raiser, .culprit, .chain'), null)
  t.equal(page({ profile: { token: 'x', url: 'javascript:alert(1)' } }).querySelector('a[href^=javascript]'), null)
})

t.test('weight', async (t) => {
  const body = renderReport(sampleReport({ logs: Array.from({ length: 40 }, () => record('debug', 'Notified event "kernel.request".', { a: 1 })) }), 'html', NONCE)
  const document = new JSDOM(body).window.document
  t.ok(body.length < 60_000, `${body.length} characters`)
  const inlined = texts(document, 'style, script').join('').length
  t.ok(inlined < 30_000, `${inlined} of style and script`)
})

const HOSTILE: Record<string, string> = {
  quotes: '"\'` onmouseover="alert(1)',
  tags: '<img src=x onerror=alert(1)><b class="injected">',
  'end of script': '</script><script>alert(1)</script>',
  'end of style': '</style></title></pre></textarea><b class="injected">',
  comment: '<!-- --> <![CDATA[ ]]>',
  entities: '&lt;b&gt; &amp; &#60;',
  'CR/LF': 'a\r\nSet-Cookie: b',
  NUL: 'a\0b',
  'non-UTF-8 leftovers': '\ufffd\ud800 \xff\x80',
  template: '$' + '{7*7} {{7*7}} !$' + '{x}',
  'right-to-left': '\u202egnp.exe\u2066\u200f',
  '60 kB': '<b class="injected">'.repeat(3_000)
}

for (const [what, text] of Object.entries(HOSTILE)) {
  t.test(`hostile everywhere: ${what}`, async (t) => {
    const report = (value: string): Partial<ErrorReport> => ({
      reason: value,
      exceptions: [exception({
        name: value,
        message: value,
        code: value,
        stack: value,
        note: value,
        frames: [{ ...frame(value, true), function: value, excerpt: { start: 3, lines: [value] } }, { ...frame(value, false), function: value }]
      })],
      logs: [{ time: value, level: 'error', channel: value, message: value, context: { [value]: value } }],
      request: { method: value, url: value, ip: value, headers: [[value, value]] },
      hints: [{ title: value, text: value, code: value }],
      raisedBy: { stage: value, listener: value },
      profile: { token: value, url: '/' + value }
    })
    const document = page(report(text))
    const harmless = page(report('x'))
    const shape = (document: Document) => [...document.querySelectorAll('*')].map((element) => `${element.tagName} ${element.getAttributeNames().join(' ')}`)
    const lasting = (lines: string[]) => lines.filter((line) => !line.startsWith('B '))
    t.same(lasting(shape(document)), lasting(shape(harmless)), 'the page has the elements of a harmless one')
    t.equal(document.querySelector('.injected, img'), null)
    t.notMatch(document.documentElement.outerHTML, /[\0\u202e\u2066\u200f]|[\ud800-\udbff](?![\udc00-\udfff])/, 'nothing works unseen')
  })
}

t.test('the message is shown as it was', async (t) => {
  for (const text of [HOSTILE.tags, HOSTILE['end of script'], HOSTILE.entities, HOSTILE.quotes, HOSTILE.template]) {
    const document = page({ exceptions: [exception({ message: text ?? '' })] })
    t.equal(document.querySelector('h1')?.textContent, text)
    t.equal(document.title, `${text} (404 Not Found)`)
  }
})
