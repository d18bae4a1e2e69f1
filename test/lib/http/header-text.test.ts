import t from 'tap'
import { headerText, joinedHeader, percentEncoded } from '../../../lib/http/header-text.js'

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
