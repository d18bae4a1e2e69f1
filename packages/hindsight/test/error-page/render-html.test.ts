import t from 'tap'
import { flattenError } from '../../src/errors/masked-exceptions.js'
import { editorLink } from '../../src/view/editor.js'
import { renderFailure } from '../../src/error-page/render-failure.js'
import type { FlattenedException, StackFrame } from '../../src/errors/exception.js'
import type { FailureProfile } from '../../src/error-page/failure-profile.js'
import { record, requested, sampleFailure } from '../errors/sample.js'
import { htmlChecker } from '../support/html-checker.js'
import { everyday, hostile } from './reports.js'
import { parseHtml } from '../support/parse-html.js'

const NONCE = { script: 'c2NyaXB0', style: 'c3R5bGU=' }

function page (changes: Partial<FailureProfile> = {}): Document {
  return parseHtml(renderFailure(sampleFailure(changes), 'html', NONCE))
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

t.test('the page has a headline, sections and counts', async (t) => {
  const document = page()
  const message = 'No route found for "GET http://127.0.0.1:3000/robots.txt"'
  t.equal(document.title, `${message} (404 Not Found)`)
  t.same(texts(document, 'h1'), [message])
  t.same(texts(document, 'main section > h2'), ['Request', 'Exceptions 2', 'Logs 2 1 error: go to the first', 'Stack Traces 2'])
  t.same([...document.querySelectorAll('main section')].map((section) => section.id), ['request', 'exceptions', 'logs', 'stack-traces'])
  for (const section of document.querySelectorAll('[aria-labelledby]')) {
    t.ok(document.getElementById(section.getAttribute('aria-labelledby') ?? ''), section.id)
  }
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')) {
    t.ok(document.getElementById(link.hash.slice(1)), `${link.hash} leads somewhere`)
  }
  t.same(texts(document, 'nav.sections a'), ['Exceptions 2', 'Logs 2', 'Stack Traces 2', 'Request'])
  t.equal(document.querySelector('a[href$="/_profiler/3fa94c"]')?.textContent, '3fa94c')
  t.same(['dt', 'dd', 'summary'].map((name) => texts(document, `#request ${name}`)[0]), [
    'GET', 'http://127.0.0.1:3000/robots.txt?page=2', 'Client 127.0.0.1, 2 headers'
  ])
})

t.test('the chain begins with the root cause', async (t) => {
  const document = page()
  t.same(texts(document, '.exception h3'), ['[1/2] RouteLookupError root cause', '[2/2] NotFoundError caused by RouteLookupError'])
  t.same(texts(document, '.exception .message')[0], 'No routes found for "/robots.txt/"')
  t.match(texts(document, '.exception')[1], /status 404/)
  t.same(texts(document, '.trace pre').map((text) => text.slice(0, 16)), ['RouteLookupError', 'NotFoundError: N'])
  t.same([...document.querySelectorAll('.trace')].map((trace) => trace.hasAttribute('open')), [false, true], 'that of the error itself is open')
  t.same(texts(document, '.cause'), ['NotFoundError'], 'a 404 is about its HTTP error')
  t.same(texts(document, '.chain li'), ['caused by RouteLookupError: No routes found for "/robots.txt/"'])
})

t.test('styles and scripts have their nonces, and nothing is inline', async (t) => {
  const document = page()
  t.same([...document.querySelectorAll('style, script')].map((element) => element.getAttribute('nonce')), [NONCE.style, NONCE.script])
  const attributes = [...document.querySelectorAll('*')].flatMap((element) => [...element.attributes]).map((attribute) => attribute.name)
  t.same(attributes.filter((name) => name === 'style' || name.startsWith('on')), [])
  t.match(document.querySelector('style')?.textContent, '"Segoe UI"', 'a stylesheet is no HTML: nothing is escaped')
  t.match(document.querySelector('script')?.textContent, "document.createElement('p')", 'nor is a script')
  t.same([...document.querySelectorAll('[src], link')].map((element) => element.getAttribute('href')), ['data:,'], 'nothing is fetched, not even an icon')
  t.notMatch(texts(document, 'script').join('\n'), /innerHTML|outerHTML|insertAdjacentHTML/)
})

t.test('own frames are listed, vendor frames are folded with their count', async (t) => {
  const frames = [
    frame('/x/node_modules/@scope/dep/a.js', false), frame('node:events', false), frame(`${process.cwd()}/routes/a.ts`, true),
    frame(`${process.cwd()}/routes/b.ts`, true), frame('/x/node_modules/fastify/b.js', false)
  ]
  const document = page({ exceptions: [exception({ frames, note: '7 more frames are left out.' })] })
  t.same(texts(document, '.fold > details > summary'), ['2 vendor frames', '1 vendor frame'])
  t.equal(document.querySelectorAll('.fold > details[open]').length, 0)
  t.same(texts(document, '.own summary'), ['here()'], 'the first frame is shown above, with its source')
  t.same(texts(document, '.own .file'), ['routes/a.ts:3:5', 'routes/b.ts:3:5'])
  t.equal(document.querySelectorAll('.own details[open]').length, 0)
  t.match(texts(document, '.exception'), [/7 more frames are left out/])
})

t.test('the page shows the first frame of the application with its source', async (t) => {
  const own = { ...frame('/srv/routes/a.ts', true), excerpt: { start: 2, lines: ['// before', '  here("<b>")', 'after'] } }
  const document = page({ exceptions: [exception(), exception({ frames: [frame('/x/node_modules/dep/a.js', false), own] })] })
  t.same(texts(document, '.where h2'), ['In your code: /srv/routes/a.ts:3:5 fn'])
  t.same(texts(document, '.where .number'), ['2', '→ 3', '4'])
  t.same(texts(document, '.where mark .source'), ['here("<b>")'])
  t.same(
    texts(document, '.where .source i').map((text, i) => `${document.querySelectorAll('.where .source i')[i]?.className} ${text}`),
    ['c // before', 'at here', 's "<b>"']
  )
  t.same(texts(document, '.own'), ['/srv/routes/a.ts:3:5 fn shown above'], 'the source is shown once')
  t.equal(document.querySelectorAll('.excerpt').length, 1)
  t.equal(document.querySelector('.where a, .frame a'), null, 'no link without an editor')
})

t.test('an error without a frame of the application has no such place', async (t) => {
  const document = page({ exceptions: flattenError(Object.assign(new Error('x'), { stack: 'Error: x\n    at f (/nowhere/a.js:1:1)' })) })
  t.equal(document.querySelector('.where, .culprit'), null)
})

t.test('the copied Markdown has the report', async (t) => {
  const report = sampleFailure()
  const document = parseHtml(renderFailure(report, 'html', NONCE))
  t.equal(document.querySelector('#as-markdown')?.textContent, renderFailure(report, 'text', NONCE))
  t.same(texts(document, 'a.copies-of'), ['Copy for an AI assistant'])
  const stored = page({ token: 'abc123', profileUrl: '/_profiler/abc123' })
  t.equal(stored.querySelector('a.copies-of')?.getAttribute('data-sheet'), '/_profiler/abc123.md')
})

t.test('links open the editor', async (t) => {
  const frames = [frame('/srv/routes/a b.ts', true), frame('/srv/node_modules/dep/a.js', false, 9), frame('node:events', false)]
  const body = renderFailure(sampleFailure({ exceptions: [exception({ frames })] }), 'html', NONCE, editorLink({ editor: 'vscode' }))
  const document = parseHtml(body)
  t.same([...document.querySelectorAll('main a[href^=vscode]')].map((link) => link.getAttribute('href')), [
    'vscode://file/srv/routes/a%20b.ts:3:5', 'vscode://file/srv/routes/a%20b.ts:3:5', 'vscode://file/srv/node_modules/dep/a.js:9:5'
  ])
})

t.test('an AggregateError is shown as a tree', async (t) => {
  const error = new AggregateError([new Error('first', { cause: new AggregateError(['inner'], 'nested') }), 'second'], 'all')
  const document = page({ exceptions: flattenError(error) })
  t.same(texts(document, '#exception-1 > .members > summary'), ['2 errors inside'])
  t.same(texts(document, '#exception-1 > .members > ol > li > .exception > header h4'),
    ['[1/2] AggregateError root cause', '[2/2] Error caused by AggregateError', 'Thrown string'])
  t.same(texts(document, '.members .members .message'), ['inner'])
  t.same(texts(document, '#stack-traces h2'), ['Stack Traces 5'])
})

t.test('the table of logs has counts and a link to the first error', async (t) => {
  const document = page({ logs: [record('debug', 'one'), record('info', 'two', { deep: { a: [1] } }), record('fatal', 'three')] })
  t.same(texts(document, '#logs tbody tr.log-info td').slice(0, 3), ['05:56:30.123', 'info', 'request'])
  t.equal(document.querySelector('#logs tr.log-info pre')?.textContent, '{\n  "deep": {\n    "a": [\n      1\n    ]\n  }\n}')
  t.equal(document.querySelector('#first-error td:last-child')?.textContent, 'three')
  t.match(texts(page({ logs: [] }), '#logs'), ['Logs 0 No log messages.'])
})

t.test('lines that the report omits are counted', async (t) => {
  const report = { logs: [record('error', 'one'), record('info', 'two')], logsOmitted: 3 }
  const document = page(report)
  t.match(texts(document, '#logs h2'), ['Logs 5 1 error'])
  t.match(texts(document, '.omission'), [/^3 lines are left out here.* profile/])
  t.equal(document.querySelector('.omission a')?.getAttribute('href'), 'http://127.0.0.1:3000/_profiler/3fa94c')
  t.equal(texts(document, '.sections a')[1], 'Logs 5')
})

t.test('hints are shown with their code', async (t) => {
  const document = page({ hints: [{ title: 'Add a route', text: 'Like this.', code: 'app.get()\n' }] })
  t.same(texts(document, '.side .hints h2'), ['Add a route'])
  t.equal(document.querySelector('.hint pre')?.textContent, 'app.get()\n')
  t.equal(page().querySelector('.hints'), null)
})

t.test('the cards beside the source are in the order of their weight', async (t) => {
  const steps = Array.from({ length: 5 }, (_, i) => ({ code: `select ${i}`, text: '1 row' }))
  const warnings = Array.from({ length: 4 }, (_, i) => ({ ...record('warn', `warning ${i}`), channel: 'app' }))
  const changes = {
    exceptions: [exception({ frames: [frame('/srv/a.ts', true)] })],
    hints: [{ title: 'Failed calls', text: '', steps: steps.slice(0, 1) }, { title: 'Queries', text: '', steps, isBackground: true }],
    logs: [...warnings, record('warn', 'of Fastify')],
    collectors: { exceptions: { summary: 'It failed.', handler: frame('/srv/a.ts', true) } },
    token: 'abc123',
    profileUrl: '/_profiler/abc123'
  }
  const titles = (hasSuccess: boolean) => texts(page({ ...changes, hasSuccess }), '.side :is(h2, .differences-of > a)')
  t.same(titles(true), ['Failed calls', 'What changed since the last success'], 'nothing may move')
  t.same(titles(false), ['Failed calls', 'The last 3 of 4 warnings', 'Queries', 'Request', 'What changed since the last success'])
  const document = page(changes)
  t.same(texts(document, '.hint details summary'), ['2 earlier'])
  t.same(texts(document, '.hint details code'), ['select 0', 'select 1'])
  t.same(texts(document, '.warnings li'), ['warning 1', 'warning 2', 'warning 3'])
})

t.test('the page of an application that is only observed has a message and a stack once', async (t) => {
  const changes = { status: 500, exceptions: [exception({ message: 'once', frames: [frame('/srv/a.ts', true)] })], hints: [], logs: [] }
  const observed = page({ ...changes, isObserved: true })
  const shown = (document: Document) => [texts(document, 'h1, .message'), document.querySelectorAll('.trace[open]').length]
  t.same(shown(observed), [['once'], 0])
  t.same(shown(page(changes)), [['once', 'once'], 1], 'the sections of the service are whole')
  const chain = flattenError(new Error('outer', { cause: new Error('once') }))
  t.same(texts(page({ ...changes, exceptions: chain, isObserved: true }), '.message'), ['outer'])
  const missing = { status: 404, exceptions: [exception({ name: 'NotFoundError' })], isObserved: true }
  t.same(texts(page(missing), '.cause'), [], 'the status says it')
})

t.test('a line that has only declared what failed is not marked as the failing one', async (t) => {
  const own = { ...frame('/srv/a.ts', true), function: 'the handler of GET /a' }
  t.ok(page({ exceptions: [exception()], collectors: { exceptions: { handler: own } } }).querySelector('.where.declared mark'))
  t.notOk(page({ exceptions: [exception({ frames: [own] })] }).querySelector('.declared'))
})

t.test('missing data leaves no empty element', async (t) => {
  const { raisedBy: _raisedBy, profileUrl: _profileUrl, ...report } = sampleFailure({ exceptions: [] })
  const document = parseHtml(renderFailure(report, 'html', NONCE))
  t.same(texts(document, 'h1'), ['Not Found'])
  t.equal(document.querySelector('.chain, .where'), null)
})

t.test('the page has less than 60 kB', async (t) => {
  const body = renderFailure(
    sampleFailure({ logs: Array.from({ length: 40 }, () => record('debug', 'Notified event "kernel.request".', { a: 1 })) }), 'html', NONCE
  )
  const document = parseHtml(body)
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
  t.test(`hostile text is escaped everywhere: ${what}`, async (t) => {
    const report = (value: string): Partial<FailureProfile> => ({
      exceptions: [exception({
        name: value,
        message: value,
        code: value,
        stack: value,
        note: value,
        frames: [{ ...frame(value, true), function: value, excerpt: { start: 3, lines: [value] } }, { ...frame(value, false), function: value }]
      })],
      logs: [{ time: value, level: 'error', channel: value, message: value, context: { [value]: value } }],
      ...requested(value, value, { [value]: value }, value),
      hints: [{ title: value, text: value, code: value }],
      raisedBy: { stage: value, listener: value },
      token: value,
      profileUrl: '/' + value
    })
    const document = page(report(text))
    const harmless = page(report('x'.repeat(text.length)))
    const shape = (document: Document) => [...document.querySelectorAll('*')].map((element) => `${element.tagName} ${element.getAttributeNames().join(' ')}`)
    const lasting = (lines: string[]) => lines.filter((line) => !/^[BI] /.test(line))
    t.same(lasting(shape(document)), lasting(shape(harmless)), 'the page has the elements of a harmless one')
    t.equal(document.querySelector('.injected, img'), null)
    t.notMatch(document.documentElement.outerHTML, /[\0\u202e\u2066\u200f]|[\ud800-\udbff](?![\udc00-\udfff])/, 'no invisible character remains')
  })
}

t.test('the text of a message is unchanged', async (t) => {
  for (const text of [HOSTILE.tags, HOSTILE['end of script'], HOSTILE.entities, HOSTILE.quotes, HOSTILE.template]) {
    const document = page({ exceptions: [exception({ message: text ?? '' })] })
    t.equal(document.querySelector('h1')?.textContent, text)
    t.equal(document.title, `${text} (404 Not Found)`)
  }
})

const findings = htmlChecker({ 'require-csp-nonce': 'error', 'prefer-native-element': 'off' })

t.test('the page is valid HTML', async (t) => {
  const pages: Array<[name: string, changes: Partial<FailureProfile>]> = [
    ['a missing route', {}],
    ['a failure of everyday', everyday()],
    ['hostile text everywhere', hostile()],
    ['nothing known', { exceptions: [], logs: [], hints: [] }]
  ]
  for (const [name, changes] of pages) {
    const body = renderFailure(sampleFailure(changes), 'html', { script: 'sc', style: 'st' })
    t.same(await findings(body), [], name)
  }
  t.ok(
    (await findings('<!DOCTYPE html><html lang="en"><head><title>x</title></head><body><p><div></div></p></body></html>')).length > 0,
    'the checker reports invalid HTML'
  )
})
