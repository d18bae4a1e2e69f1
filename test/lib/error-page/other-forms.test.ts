import { JSDOM } from 'jsdom'
import t from 'tap'
import { plainStack, renderShortError } from '../../../lib/error-page/plain-pages.js'
import { renderReport } from '../../../lib/error-page/diagnostic-page.js'
import { flattenError } from '../../../lib/errors/flatten-error.js'
import type { ErrorReport } from '../../../lib/errors/report.js'
import { record, sampleReport } from '../errors/sample.js'

const NONCE = { script: 'a', style: 'b' }
const HINT = { title: 'Add a route', text: 'Like this.', code: 'app.get()' }
const NEAR = { title: 'Near', text: 'By little.', routes: [{ methods: ['GET', 'PUT'], pattern: '/a_*', why: 'a <b>' }] }

function told (type: 'json' | 'text', changes: Partial<ErrorReport> = {}): string {
  return renderReport(sampleReport(changes), type, NONCE)
}

t.test('the problem document has the fields of RFC 9457 and the report', async (t) => {
  const document = JSON.parse(told('json', { hints: [HINT] }))
  t.match(document, {
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'No route found for "GET http://127.0.0.1:3000/robots.txt"',
    instance: '/robots.txt',
    exceptions: [{ name: 'RouteLookupError' }, { name: 'NotFoundError', statusCode: 404 }],
    hints: [HINT],
    raisedBy: { stage: 'kernel.request', listener: 'router' },
    profile: { token: '3fa94c' }
  })
  t.same(document.logs.map((line: { level: string }) => line.level), ['debug', 'error'])
})

t.test('odd values are serialized safely in the problem document', async (t) => {
  const circle: Record<string, unknown> = { big: 1n }
  circle.self = circle
  const body = told('json', { logs: [record('info', '</script>', circle), record('info', 'next', { fn () {} })], request: { method: 'GET', url: '%', ip: '', headers: [] } })
  t.notMatch(body, '<', 'no markup for content sniffing')
  const document = JSON.parse(body)
  t.match(document.logs, [{ message: '</script>', context: /Circular/ }, { context: { fn: '[Function: fn]' } }])
  t.equal(document.instance, undefined)
  t.equal(JSON.parse(told('json', { logsOmitted: { lines: 500, failures: 0 } })).logsOmitted, 500)
})

t.test('plain text is Markdown without control characters', async (t) => {
  const changes = { exceptions: flattenError('thrown'), hints: [HINT], logs: [record('info', '\x1b[31mred\r\nnew line', { a: 1 })] }
  const text = told('text', changes)
  t.match(text, '05:56:30.123 INFO  [request] ␛[31mred␍␊new line { a: 1 }')
  t.notMatch(text, /[^\P{Cc}\n\t]/u, 'no control sequence for a terminal')
})

t.test('the text of many log lines has the number of omitted lines', async (t) => {
  t.match(told('text', { logs: Array.from({ length: 300 }, (_, i) => record('info', `line ${i}`)) }), /… 288 more lines\n.*line 288\n/)
})

t.test('Markdown has the report, escaped', async (t) => {
  const text = told('text', { hints: [HINT] })
  t.match(text, /^# No route found for "GET http:\/\/127\.0\.0\.1:3000\/robots\.txt"\n\n\*\*404 Not Found\*\* · `GET http/)
  t.match(text, /### \\\[1\/2\\\] RouteLookupError\n\n```text\nNo routes found/)
  t.match(text, /```ts\n(.*\n)*> {1,3}\d+ \| .*new Error\('No routes found/)
  t.match(text, '## Hint: Add a route\n\nLike this.\n\n```ts\napp.get()\n```')
  t.match(told('text', { hints: [NEAR] }), '## Hint: Near\n\nBy little.\n\n- `GET, PUT /a_*`: a \\<b\\>\n')
  t.match(told('text', { exceptions: flattenError(new AggregateError(['inner'], 'all')), logs: [] }), '#### \\[1/1\\] error 1, \\[1/1\\] Thrown string')
})

t.test('hostile text cannot end a fenced block', async (t) => {
  const hostile = '`````\n# injected\n<script>alert(1)</script>\n~~~\n```'
  const text = told('text', {
    exceptions: [{ name: hostile, message: hostile, stack: '', frames: [{ file: `/${hostile}.ts`, line: 1, column: 1, function: hostile, own: true, excerpt: { start: 1, lines: hostile.split('\n') } }] }],
    logs: [record('info', hostile)],
    request: { method: 'GET', url: `http://x/${hostile}`, ip: hostile, headers: [['x', hostile]] },
    hints: [{ title: hostile, text: hostile, code: hostile }]
  })
  t.notMatch(outsideOfFences(text), /^# injected|<script/m)
  t.match(outsideOfFences('# a\n```\n# injected\n```\n'), '# a\n', 'the reader below reads fences')
})

// What CommonMark reads as text of its own: neither within a fence, nor within a span of code, nor escaped.
function outsideOfFences (markdown: string): string {
  let fence: string | undefined
  const lines = markdown.split('\n').filter((line) => {
    const marks = /^(`{3,})[^`]*$/.exec(line)?.[1]
    if (fence === undefined) {
      fence = marks
      return marks === undefined
    }
    if (marks !== undefined && marks.length >= fence.length && line === marks) fence = undefined
    return false
  })
  return lines.join('\n').replace(/\\./g, '').replace(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g, '')
}

t.test('the short error has the status and the reference, and no detail', async (t) => {
  const { document } = new JSDOM(renderShortError(503, 'Service <b>', 'html', { token: 'abc123' })).window
  t.equal(document.title, 'An Error Occurred: Service <b>')
  t.match(document.body.textContent, /503 Service <b>[^]*Reference: abc123/)
  t.equal(document.querySelectorAll('style, script, link, [style], b').length, 0)
  t.same(JSON.parse(renderShortError(500, 'Internal Server Error', 'json')), { type: 'about:blank', title: 'Internal Server Error', status: 500 })
  t.match(renderShortError(404, 'Not Found', 'text'), /^An Error Occurred: Not Found\n\n404 Not Found\n/)
  t.match(renderShortError(404, 'Not Found', 'text', { token: 't' }), /\nReference: t\n$/)
})

t.test('the short error has the detail that it is given, whatever was raised', async (t) => {
  const detail = [new Error('first <b>'), 'second'].map(plainStack).join('\n\n')
  const { document } = new JSDOM(renderShortError(500, 'Error', 'html', { detail })).window
  t.match(document.querySelector('pre')?.textContent, /^Error: first <b>\n[^]*\nsecond$/)
  t.equal(JSON.parse(renderShortError(500, 'Error', 'json', { detail })).detail, detail)
  t.match(renderShortError(500, 'Error', 'text', { detail }), /\n {4}Error: first <b>\n[^]*\n {4}second\n$/)
  const throwing = () => { throw new Error('no') }
  const odd = [null, undefined, Symbol('s'), Object.create(null), { toString: throwing }, Object.defineProperty(new Error('x'), 'stack', { get: throwing }), new Proxy({}, { get: throwing })]
  for (const value of odd) t.type(plainStack(value), 'string')
})
