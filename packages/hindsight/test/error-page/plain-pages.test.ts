import t from 'tap'
import { plainStack, renderShortError } from '../../src/error-page/plain-pages.js'
import { parseHtml } from '../support/parse-html.js'

t.test('the short error has the status and the reference, and no detail', async (t) => {
  const document = parseHtml(renderShortError(503, 'html', { token: 'abc123' }))
  t.equal(document.title, 'An Error Occurred: Service Unavailable')
  t.match(document.body.textContent, /503 Service Unavailable[^]*Reference: abc123/)
  t.equal(document.querySelectorAll('style, script, link, [style]').length, 0)
  t.notMatch(renderShortError(503, 'html'), 'Reference', 'the reference of another error is not kept')
  t.same(JSON.parse(renderShortError(500, 'json')), { type: 'about:blank', title: 'Internal Server Error', status: 500 })
  t.match(renderShortError(404, 'text'), /^An Error Occurred: Not Found\n\n404 Not Found\n/)
  t.match(renderShortError(404, 'text', { token: 't' }), /\nReference: t\n$/)
})

t.test('the short error has the detail that it is given, whatever was raised', async (t) => {
  const detail = [new Error('first <b>'), 'second'].map(plainStack).join('\n\n')
  const document = parseHtml(renderShortError(500, 'html', { detail }))
  t.match(document.querySelector('pre')?.textContent, /^Error: first <b>\n[^]*\nsecond$/)
  t.equal(JSON.parse(renderShortError(500, 'json', { detail })).detail, detail)
  t.match(renderShortError(500, 'text', { detail }), /\n {4}Error: first <b>\n[^]*\n {4}second\n$/)
  const throwing = () => { throw new Error('no') }
  const odd = [
    null, undefined, Symbol('s'), Object.create(null), { toString: throwing }, Object.defineProperty(new Error('x'), 'stack', { get: throwing }),
    new Proxy({}, { get: throwing })
  ]
  for (const value of odd) t.type(plainStack(value), 'string')
})
