import t from 'tap'
import { createMask } from '../../../src/mask/mask.js'
import { problemsOf } from '../../../src/parts/read.js'
import { csp as cspPanel, readReport, withViolation } from '../../../src/parts/csp/index.js'
import { shown, texts } from '../support.js'
import { profile } from '../fixture.js'

const mask = createMask()
const report = (changes: object = {}) => ({
  'csp-report': {
    'effective-directive': 'script-src-elem',
    'blocked-uri': 'https://cdn.example/a.js?token=hidden',
    disposition: 'enforce',
    'source-file': 'http://h/page',
    'line-number': 3,
    ...changes
  }
})

t.test('a report is read, and its values are masked', async (t) => {
  t.match(readReport(report(), mask.url), {
    kind: 'csp',
    option: 'contentSecurityPolicy.enforce',
    sentence: new RegExp('^Blocked by Content Security Policy: https://cdn\\.example/a\\.js\\S+ \\(http://h/page:3\\), by script-src-elem\\. ' +
      'The option is contentSecurityPolicy\\.enforce\\.$')
  })
  t.notMatch(JSON.stringify(readReport(report(), mask.url)), 'hidden')
  t.match(readReport({ 'csp-report': { 'violated-directive': "style-src 'self'" } }, mask.url), { sentence: /: inline code, by style-src\./ }, 'older browsers')
  t.match(readReport(report({ disposition: 'report', 'blocked-uri': 'inline', 'line-number': 'x' }), mask.url), {
    option: 'contentSecurityPolicy.reportOnly',
    sentence: 'Reported, not blocked, by Content Security Policy: inline code (http://h/page), by script-src-elem. The option is ' +
      'contentSecurityPolicy.reportOnly.'
  })
})

t.test('an invalid report is refused, and a hostile one is bounded', async (t) => {
  for (const body of [
    null, 1, 'x', [], {}, [null], { 'csp-report': [] }, { 'csp-report': {} }, report({ 'effective-directive': '<script>' }),
    report({ 'effective-directive': 5 })
  ]) t.equal(readReport(body, mask.url), null, JSON.stringify(body))
  const one = readReport(report({ 'blocked-uri': '\u001b[31m\n'.repeat(5_000), 'source-file': 'x'.repeat(9_999), 'line-number': '\u202e' }), mask.url)
  t.ok(JSON.stringify(one).length < 5_000)
  t.notMatch(JSON.stringify(one), /\\u001b|\\n|\u202e/)
})

t.test('violations are attached once and bounded, and the given profile is unchanged', async (t) => {
  const [violation, inline] = [readReport(report(), mask.url), readReport(report({ 'blocked-uri': 'inline' }), mask.url)]
  if (violation === null || inline === null) throw new Error('none')
  const before = Object.freeze(profile('000001', { collectors: Object.freeze({ csp: Object.freeze({ nonces: [] }), blocked: [{ kind: 'cookie' }] }) }))
  const once = withViolation(before, violation)
  const both = withViolation(withViolation(JSON.parse(JSON.stringify(once)), violation), inline)
  t.same(both.collectors, { csp: { nonces: [] }, blocked: [{ kind: 'cookie' }, violation, inline] })
  const many = Array.from({ length: 80 }, (_, i) => ({ ...violation, sentence: `a:${i}` })).reduce(withViolation, once)
  t.equal((many.collectors.blocked as unknown[]).length, 11)
  const root = shown(cspPanel, both)
  t.equal(texts(root, 'h3')[0], 'Blocked by Content Security Policy')
  t.same(texts(root, '.scroll tbody tr').map((row) => /by ([\w-]+)\. The/.exec(row)?.[1]), ['script-src-elem', 'script-src-elem'])
  t.equal(problemsOf(cspPanel, both).warnings, 2)
  t.equal(problemsOf(cspPanel, before).warnings, 0)
})
