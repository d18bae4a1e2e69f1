import t from 'tap'
import { createMask } from '../../../../lib/mask/mask.js'
import { withViolations } from '../../../../lib/profiler/csp/reports.js'
import { readReports } from '../../../../lib/profiler/csp/reports.js'
import { cspPanel } from '../../../../lib/profiler/csp/panel.js'
import { shown, texts } from '../panels/support.js'
import { profile } from '../fixture.js'

const mask = createMask()
const POLICY = "default-src 'self';script-src 'self'"
const legacy = (changes: object = {}) => ({ 'csp-report': { 'effective-directive': 'script-src-elem', 'blocked-uri': 'https://cdn.example/a.js?token=hidden', 'original-policy': POLICY, disposition: 'enforce', 'source-file': 'http://h/page', 'line-number': 3, 'column-number': 7, ...changes } })
const modern = (changes: object = {}) => ({ type: 'csp-violation', body: { effectiveDirective: 'img-src', blockedURL: 'https://img.example/a.png', originalPolicy: POLICY, disposition: 'report', ...changes } })

t.test('both forms', async (t) => {
  t.match(readReports(legacy(), mask), [{ directive: 'script-src-elem', blocked: /^https:\/\/cdn\.example\/a\.js\?token=/, disposition: 'enforce', source: 'http://h/page:3:7', decidedBy: 'script-src', allow: 'https://cdn.example', count: 1 }])
  t.notMatch(JSON.stringify(readReports(legacy(), mask)), 'hidden')
  t.match(readReports([modern(), { type: 'deprecation', body: {} }], mask), [{ directive: 'img-src', disposition: 'report', decidedBy: 'default-src', allow: 'https://img.example' }])
  t.equal(readReports([modern(), { type: 'deprecation', body: {} }], mask)?.length, 1)
  t.equal(readReports(Array.from({ length: 50 }, () => modern()), mask)?.length, 20)
})

t.test('what would allow it', async (t) => {
  for (const [directive, blocked, allow] of [
    ['script-src-elem', 'inline', /reply\.cspNonce\.script/], ['style-src-elem', '', /reply\.cspNonce\.style/], ['script-src-attr', 'inline', /unsafe-hashes/], ['script-src', 'eval', /^'unsafe-eval'$/],
    ['script-src', 'wasm-eval', /^'wasm-unsafe-eval'$/], ['img-src', 'data', /^data:$/], ['worker-src', 'blob', /^blob:$/], ['connect-src', 'wss://h:8/x', /^wss:\/\/h:8$/], ['frame-src', 'about:blank', /^about:$/], ['img-src', 'what is this', /its source/]
  ] as const) t.match(readReports(legacy({ 'effective-directive': directive, 'blocked-uri': blocked }), mask)?.[0]?.allow, allow, `${directive} ${blocked}`)
  t.match(readReports({ 'csp-report': { 'violated-directive': "style-src 'self'" } }, mask), [{ directive: 'style-src', blocked: 'inline' }])
  t.match(readReports(legacy({ 'effective-directive': 'worker-src' }), mask), [{ decidedBy: 'script-src' }])
  t.match(readReports(legacy({ 'effective-directive': 'frame-src', 'original-policy': 'child-src x' }), mask), [{ decidedBy: 'child-src' }])
})

t.test('what is no report', async (t) => {
  for (const body of [null, 1, 'x', [], {}, [null], [{ type: 'csp-violation' }], { 'csp-report': [] }, { 'csp-report': {} }, legacy({ 'effective-directive': '<script>' }), legacy({ 'effective-directive': 5 })]) t.equal(readReports(body, mask), null, JSON.stringify(body))
  t.equal(readReports([modern({ effectiveDirective: '' })], mask)?.length, 0)
  const [one] = readReports(legacy({ 'blocked-uri': '\u001b[31m\n'.repeat(5_000), 'source-file': 'x'.repeat(9_999), 'line-number': -1, 'column-number': 'x', 'script-sample': '\u202e' }), mask) ?? []
  t.ok(JSON.stringify(one).length < 5_000)
  t.notMatch(JSON.stringify(one), /\\u001b|\\n|\u202e/)
})

t.test('they are attached, counted and bounded; the profile that was given stays as it is', async (t) => {
  const [violation] = readReports(legacy(), mask) ?? []
  if (violation === undefined) throw new Error('none')
  const before = Object.freeze(profile('000001', { collectors: Object.freeze({ csp: Object.freeze({ nonces: [] }), blocked: [{ kind: 'cookie' }] }) }))
  const once = withViolations(before, [violation])
  const twice = withViolations(JSON.parse(JSON.stringify(once)), [violation, { ...violation, blocked: 'inline', source: 'a:1' }])
  t.match(twice.collectors.csp, { nonces: [], violations: [{ count: 2 }, { blocked: 'inline', count: 1 }] })
  t.match(twice.collectors.blocked, [{ kind: 'cookie' }, { kind: 'csp', option: 'contentSecurityPolicy.enforce["script-src"]', sentence: /^Blocked by Content Security Policy: https:\/\/cdn\.example\/a\.js\S+ \(http:\/\/h\/page:3:7\), by script-src-elem, which falls back on script-src\. To allow it, add https:\/\/cdn\.example to contentSecurityPolicy\.enforce\["script-src"\]\.$/ }, { kind: 'csp' }])
  const many = withViolations(once, Array.from({ length: 80 }, (_, i) => ({ ...violation, source: `a:${i}` })))
  t.match(many.collectors.csp, { violationsDropped: 31 })
  t.equal((many.collectors.blocked as unknown[]).length, 6)
  t.match(withViolations(profile('000001', { collectors: { csp: { ofRoute: ['content-security-policy'] } } }), [violation]).collectors.blocked, [{ option: "script-src of the route's own content-security-policy" }])
  const root = shown(cspPanel, twice)
  t.equal(texts(root, 'h3')[0], 'Violations reported by the browser')
  t.match(texts(root, '[aria-label="Violations"] tbody tr')[0], /^script-src-elem, by script-srchttps:\/\/cdn\.example.*http:\/\/h\/page:3:7https:\/\/cdn\.example in contentSecurityPolicy\.enforce\["script-src"\]2$/)
  t.ok(cspPanel.problems?.(twice).warnings)
  t.equal(cspPanel.problems?.(before).warnings, 0)
})
