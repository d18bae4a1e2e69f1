import t from 'tap'
import { headerText, joinedHeader, percentEncoded, prefersHtml, errorRepresentation } from '../../src/http/requests.js'

t.test('the octets of a header are decoded as UTF-8', async t => {
  for (const [value, expected] of [
    ['', ''], ['plain ~', 'plain ~'], ['\u00c3\u00bc', 'ü'], ['\u00e2\u0082\u00ac', '€'], ['\u00f0\u009f\u0098\u0080', '😀'],
    ['\u00ff', '\ufffd'], ['a\u00e9b', 'a\ufffdb'], ['\u00c0\u00af', '\ufffd\ufffd']
  ] as const) t.equal(headerText(value), expected, JSON.stringify(value))
})

t.test('the values of a repeated header are joined', async t => {
  const raw = ['Host', 'a', 'Referer', 'one', 'X', 'y', 'REFERER', 'two', 'referer', '\u00c3\u00bc']
  t.equal(joinedHeader(raw, 'referer'), 'one, two, ü')
  t.equal(joinedHeader(raw, 'none'), '')
  t.equal(joinedHeader(['Referer', '', 'Referer', 'x'], 'referer'), 'x')
  t.equal(joinedHeader([], 'referer'), '')
})

t.test('only unreserved characters stay unencoded', async t => {
  for (const [text, expected] of [
    ['aZ0-._~', 'aZ0-._~'], ['a b', 'a%20b'], ["!'()*", '%21%27%28%29%2A'], ['"<>&', '%22%3C%3E%26'], ['/:?', '%2F%3A%3F'],
    ['\r\n', '%0D%0A'], ['ü', '%C3%BC'], ['😀', '%F0%9F%98%80'], ['\ud800', '%EF%BF%BD'], ['', '']
  ] as const) {
    t.equal(percentEncoded(text), expected, JSON.stringify(text))
    t.match(percentEncoded(text), /^[A-Za-z0-9\-._~%]*$/)
  }
})

const HTML = 'text/html; charset=utf-8'
const PROBLEM = 'application/problem+json'
const JSON_TYPE = 'application/json'
const TEXT = 'text/plain; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'

const cases: Array<[accept: string | undefined, type: string, contentType: string]> = [
  [undefined, 'html', HTML],
  ['', 'html', HTML],
  ['*/*', 'html', HTML],
  ['text/*', 'html', HTML],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'html', HTML],
  ['image/avif,image/webp,*/*', 'html', HTML],
  ['application/json', 'json', JSON_TYPE],
  ['APPLICATION/JSON', 'json', JSON_TYPE],
  ['application/json; charset=utf-8', 'json', JSON_TYPE],
  ['text/html;q=0.5, application/json; charset="UTF-8"; q=0.9', 'json', JSON_TYPE],
  ['application/json, text/plain, */*', 'json', JSON_TYPE],
  ['application/problem+json', 'json', PROBLEM],
  ['application/json, application/problem+json', 'json', JSON_TYPE],
  ['application/json;q=0.5, application/problem+json', 'json', PROBLEM],
  ['application/*', 'json', PROBLEM],
  ['text/html;q=0.1, application/json;q=0.9', 'json', JSON_TYPE],
  ['text/html;q=0, */*', 'json', PROBLEM],
  ['application/json;q=0', 'html', HTML],
  ['*/*;q=0', 'html', HTML],
  ['text/html;q=0', 'html', HTML],
  ['text/plain', 'text', TEXT],
  ['text/plain, text/html;q=0.9', 'text', TEXT],
  ['text/markdown', 'markdown', MARKDOWN],
  ['text/markdown, text/plain;q=0.9, */*;q=0.1', 'markdown', MARKDOWN],
  ['image/png', 'html', HTML],
  ['foo', 'html', HTML],
  [';;,,q=', 'html', HTML],
  ['application/json;q=abc', 'html', HTML],
  ['"', 'html', HTML],
  ['application/x-yaml', 'html', HTML],
  ['text/xml', 'html', HTML],
  ['application/vnd.api+json', 'html', HTML],
  [`${'a/b,'.repeat(49)}application/json`, 'json', JSON_TYPE],
  [`application/json,${' '.repeat(2_100)}text/plain;q=2`, 'json', JSON_TYPE],
  [`text/plain;q=0.4,application/json;a=${'b'.repeat(2_100)}`, 'text', TEXT]
]

t.test('a request prefers HTML if its Accept header names it within the first 2,048 characters', async (t) => {
  t.equal(prefersHtml('*/*'), false)
  t.equal(prefersHtml(`${'a/b,'.repeat(49)}text/html`), true)
  t.equal(prefersHtml(`*/*,${' '.repeat(2_048)}text/html`), false)
})

for (const [accept, type, contentType] of cases) {
  t.test(`Accept: ${accept?.slice(0, 100) ?? '(none)'} (${accept?.length ?? 0} characters)`, async (t) => {
    t.same(errorRepresentation(accept), { type, contentType })
  })
}
