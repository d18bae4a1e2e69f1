import t from 'tap'
import { renderFailure } from '../../src/error-page/render-failure.js'
import { valuesParts } from '../../src/error-page/render-text.js'
import { flattenError } from '../../src/errors/masked-exceptions.js'
import type { FailureProfile } from '../../src/error-page/failure-profile.js'
import { record, requested, sampleFailure } from '../errors/sample.js'

const NONCE = { script: 'a', style: 'b' }
const HINT = { title: 'Add a route', text: 'Like this.', code: 'app.get()' }
const NEAR = { title: 'Near', text: 'By little.', routes: [{ methods: ['GET', 'PUT'], pattern: '/a_*', why: 'a <b>' }] }

function rendered (type: 'json' | 'text', changes: Partial<FailureProfile> = {}): string {
  return renderFailure(sampleFailure(changes), type, NONCE)
}

t.test('plain text is Markdown without control characters', async (t) => {
  const changes = { exceptions: flattenError('thrown'), hints: [HINT], logs: [record('info', '\x1b[31mred\r\nnew line', { a: 1 })] }
  const text = rendered('text', changes)
  t.match(text, '05:56:30.123 INFO  [request] ␛[31mred␍␊new line {"a":1}')
  t.notMatch(text, /[^\P{Cc}\n\t]/u, 'no control sequence for a terminal')
})

t.test('the fields of a log line are JSON, each text of at most 300 characters', async (t) => {
  const text = rendered('text', { logs: [record('info', 'sent', { to: 'x'.repeat(301), user: { id: 7, note: 'y'.repeat(300) } })] })
  t.match(text, `sent {"to":"${'x'.repeat(300)}...","user":{"id":7,"note":"${'y'.repeat(300)}"}}\n`)
})

t.test('the text of many log lines has the number of omitted lines', async (t) => {
  t.match(rendered('text', { logs: Array.from({ length: 300 }, (_, i) => record('info', `line ${i}`)) }), /… 288 more lines\n.*line 288\n/)
})

t.test('Markdown has the report, escaped', async (t) => {
  const text = rendered('text', { hints: [HINT] })
  t.match(text, /^# 404 Not Found\n\n> Recorded data: .*\n\n`No route found for "GET http:\/\/127\.0\.0\.1:3000\/robots\.txt"`\n\n`GET http/)
  t.match(text, /### \\\[1\/2\\\] RouteLookupError\n\n```text\nNo routes found/)
  t.match(text, /```ts\n(.*\n)*> {1,3}\d+ \| .*new Error\('No routes found/)
  t.match(text, '## Hint: Add a route\n\nLike this.\n\n```ts\napp.get()\n```')
  t.match(rendered('text', { hints: [NEAR] }), '## Hint: Near\n\nBy little.\n\n- `GET, PUT /a_*`: a \\<b\\>\n')
  t.match(rendered('text', { exceptions: flattenError(new AggregateError(['inner'], 'all')), logs: [] }), '#### \\[1/1\\] error 1, \\[1/1\\] Thrown string')
})

t.test('hostile text cannot end a fenced block', async (t) => {
  const hostile = '`````\n# injected\n<script>alert(1)</script>\n~~~\n```'
  const text = rendered('text', {
    exceptions: [{
      name: hostile,
      message: hostile,
      stack: '',
      frames: [{ file: `/${hostile}.ts`, line: 1, column: 1, function: hostile, own: true, excerpt: { start: 1, lines: hostile.split('\n') } }]
    }],
    logs: [record('info', hostile)],
    ...requested('GET', `http://x/${hostile}`, { x: hostile }, hostile),
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

t.test('a call without variables is not named', async (t) => {
  const call = { file: '/app/a.js', line: 3, column: 1, function: 'fail' }
  t.same(valuesParts([{ ...call, variables: [] }]), [])
  const variables = [{ name: 'count', value: 3 }]
  t.same(valuesParts([{ ...call, variables: [] }, { ...call, function: 'run', line: 9, variables }]), [
    'Variables when it was thrown:', '```js\n// run (/app/a.js:9)\ncount = 3\n```'
  ])
})
