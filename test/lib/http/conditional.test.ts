import t from 'tap'
import { entityTag, evaluate, isConditional, validatorsOf, type Outcome, type Validators } from '../../../lib/http/conditional.js'

const CHANGED = Date.UTC(2026, 0, 15, 12)
const BEFORE = 'Thu, 15 Jan 2026 11:59:59 GMT'
const SAME = 'Thu, 15 Jan 2026 12:00:00 GMT'
const AFTER = 'Thu, 15 Jan 2026 12:00:01 GMT'
const STRONG: Validators = { etag: '"xyzzy"', lastModified: CHANGED }
const WEAK: Validators = { etag: 'W/"xyzzy"', lastModified: CHANGED }
const TAG_ONLY: Validators = { etag: '"xyzzy"', lastModified: null }
const DATE_ONLY: Validators = { etag: null, lastModified: CHANGED }
const NOTHING: Validators = { etag: null, lastModified: null }

type Case = [name: string, method: string, headers: Record<string, string>, validators: Validators, outcome: Outcome, precondition?: string]

const cases: Case[] = [
  ['no precondition', 'GET', {}, STRONG, 'unconditional'],
  ['If-Range is about ranges', 'GET', { 'if-range': '"xyzzy"' }, STRONG, 'unconditional'],

  ['If-None-Match: the tag', 'GET', { 'if-none-match': '"xyzzy"' }, STRONG, 'fresh', 'If-None-Match'],
  ['If-None-Match: for HEAD', 'HEAD', { 'if-none-match': '"xyzzy"' }, STRONG, 'fresh', 'If-None-Match'],
  ['If-None-Match: another tag', 'GET', { 'if-none-match': '"r2d2"' }, STRONG, 'stale', 'If-None-Match'],
  ['If-None-Match: case matters', 'GET', { 'if-none-match': '"XYZZY"' }, STRONG, 'stale', 'If-None-Match'],
  ['If-None-Match: weak against strong', 'GET', { 'if-none-match': 'W/"xyzzy"' }, STRONG, 'fresh', 'If-None-Match'],
  ['If-None-Match: strong against weak', 'GET', { 'if-none-match': '"xyzzy"' }, WEAK, 'fresh', 'If-None-Match'],
  ['If-None-Match: weak against weak', 'GET', { 'if-none-match': 'W/"xyzzy"' }, WEAK, 'fresh', 'If-None-Match'],
  ['If-None-Match: one of a list', 'GET', { 'if-none-match': '"r2d2", W/"xyzzy" ,"c3piozzzz"' }, STRONG, 'fresh', 'If-None-Match'],
  ['If-None-Match: a list without it', 'GET', { 'if-none-match': 'W/"r2d2", "c3piozzzz"' }, STRONG, 'stale', 'If-None-Match'],
  ['If-None-Match: half of a tag with a comma', 'GET', { 'if-none-match': '"b' }, { etag: '"b,c"', lastModified: null }, 'stale', 'If-None-Match'],
  ['If-None-Match: *', 'GET', { 'if-none-match': ' * ' }, STRONG, 'fresh', 'If-None-Match'],
  ['If-None-Match: * where only a date is known', 'GET', { 'if-none-match': '*' }, DATE_ONLY, 'fresh', 'If-None-Match'],
  ['If-None-Match: * where nothing exists', 'GET', { 'if-none-match': '*' }, NOTHING, 'stale', 'If-None-Match'],
  ['If-None-Match: unquoted', 'GET', { 'if-none-match': 'xyzzy' }, STRONG, 'stale', 'If-None-Match'],
  ['If-None-Match: empty', 'GET', { 'if-none-match': '' }, STRONG, 'unconditional'],
  ['If-None-Match: the empty tag', 'GET', { 'if-none-match': '""' }, { etag: '""', lastModified: null }, 'fresh', 'If-None-Match'],
  ['If-None-Match: a match forbids a change', 'PUT', { 'if-none-match': '"xyzzy"' }, STRONG, 'failed', 'If-None-Match'],
  ['If-None-Match: * forbids to overwrite', 'PUT', { 'if-none-match': '*' }, STRONG, 'failed', 'If-None-Match'],
  ['If-None-Match: * allows to create', 'PUT', { 'if-none-match': '*' }, NOTHING, 'stale', 'If-None-Match'],

  ['If-Modified-Since: the same second', 'GET', { 'if-modified-since': SAME }, STRONG, 'fresh', 'If-Modified-Since'],
  ['If-Modified-Since: later', 'HEAD', { 'if-modified-since': AFTER }, STRONG, 'fresh', 'If-Modified-Since'],
  ['If-Modified-Since: earlier', 'GET', { 'if-modified-since': BEFORE }, STRONG, 'stale', 'If-Modified-Since'],
  ['If-Modified-Since: malformed is ignored', 'GET', { 'if-modified-since': '2026-01-15' }, STRONG, 'unconditional'],
  ['If-Modified-Since: ignored without a date of the resource', 'GET', { 'if-modified-since': AFTER }, TAG_ONLY, 'unconditional'],
  ['If-Modified-Since: only for GET and HEAD', 'POST', { 'if-modified-since': AFTER }, STRONG, 'unconditional'],
  ['If-Modified-Since: ignored beside If-None-Match', 'GET', { 'if-none-match': '"r2d2"', 'if-modified-since': AFTER }, STRONG, 'stale', 'If-None-Match'],
  ['If-Modified-Since: even where there is no tag', 'GET', { 'if-none-match': '"r2d2"', 'if-modified-since': AFTER }, DATE_ONLY, 'stale', 'If-None-Match'],

  ['If-Match: the tag', 'PUT', { 'if-match': '"xyzzy"' }, STRONG, 'stale', 'If-Match'],
  ['If-Match: one of a list', 'DELETE', { 'if-match': '"r2d2", "xyzzy"' }, STRONG, 'stale', 'If-Match'],
  ['If-Match: another tag', 'PUT', { 'if-match': '"r2d2"' }, STRONG, 'failed', 'If-Match'],
  ['If-Match: compares strongly, a weak one sent', 'PUT', { 'if-match': 'W/"xyzzy"' }, STRONG, 'failed', 'If-Match'],
  ['If-Match: compares strongly, a weak one kept', 'PUT', { 'if-match': 'W/"xyzzy"' }, WEAK, 'failed', 'If-Match'],
  ['If-Match: *', 'PUT', { 'if-match': '*' }, DATE_ONLY, 'stale', 'If-Match'],
  ['If-Match: * where nothing exists', 'PUT', { 'if-match': '*' }, NOTHING, 'failed', 'If-Match'],
  ['If-Match: a tag where nothing exists', 'PUT', { 'if-match': '"xyzzy"' }, NOTHING, 'failed', 'If-Match'],
  ['If-Match: malformed matches nothing', 'PUT', { 'if-match': 'xyzzy' }, STRONG, 'failed', 'If-Match'],
  ['If-Match: for GET too', 'GET', { 'if-match': '"r2d2"' }, STRONG, 'failed', 'If-Match'],
  ['If-Match: cannot be judged for a GET without a tag', 'GET', { 'if-match': '"r2d2"' }, DATE_ONLY, 'unconditional'],
  ['If-Match passes, If-None-Match decides', 'GET', { 'if-match': '"xyzzy"', 'if-none-match': '"xyzzy"' }, STRONG, 'fresh', 'If-None-Match'],
  ['If-Match fails first', 'GET', { 'if-match': '"r2d2"', 'if-none-match': '"xyzzy"' }, STRONG, 'failed', 'If-Match'],

  ['If-Unmodified-Since: the same second', 'PUT', { 'if-unmodified-since': SAME }, STRONG, 'stale', 'If-Unmodified-Since'],
  ['If-Unmodified-Since: earlier', 'PUT', { 'if-unmodified-since': BEFORE }, STRONG, 'failed', 'If-Unmodified-Since'],
  ['If-Unmodified-Since: for GET too', 'GET', { 'if-unmodified-since': BEFORE }, STRONG, 'failed', 'If-Unmodified-Since'],
  ['If-Unmodified-Since: malformed is ignored', 'PUT', { 'if-unmodified-since': 'never' }, STRONG, 'unconditional'],
  ['If-Unmodified-Since: ignored without a date of the resource', 'PUT', { 'if-unmodified-since': BEFORE }, TAG_ONLY, 'unconditional'],
  ['If-Unmodified-Since: ignored beside If-Match', 'PUT', { 'if-match': '"xyzzy"', 'if-unmodified-since': BEFORE }, STRONG, 'stale', 'If-Match'],
  ['If-Unmodified-Since passes, If-Modified-Since decides', 'GET', { 'if-unmodified-since': AFTER, 'if-modified-since': AFTER }, STRONG, 'fresh', 'If-Modified-Since']
]

t.test('preconditions in the order of RFC 9110, section 13.2.2', async (t) => {
  for (const [name, method, headers, validators, outcome, precondition = null] of cases) {
    t.strictSame(evaluate(method, headers, validators), { outcome, precondition }, name)
  }
})

t.test('which requests are conditional', async (t) => {
  for (const name of ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']) t.equal(isConditional({ [name]: '' }), true, name)
  t.equal(isConditional({ 'if-range': '"a"', etag: '"a"' }), false)
})

t.test('a hostile list matches nothing', async (t) => {
  for (const list of ['"'.repeat(60_000), 'W/'.repeat(30_000), `"${'a'.repeat(60_000)}`]) {
    t.same(evaluate('GET', { 'if-none-match': list }, STRONG), evaluate('GET', { 'if-none-match': '"other"' }, STRONG))
  }
})

t.test('entity tags', async (t) => {
  const cases: Array<[text: string, weak: boolean, expected: string | RegExp]> = [
    ['v1', false, '"v1"'],
    ['v1', true, 'W/"v1"'],
    ['"v1"', false, '"v1"'],
    ['"v1"', true, 'W/"v1"'],
    ['W/"v1"', false, 'W/"v1"'],
    ['two words', false, /^"[\w-]{43}"$/],
    ['a,b', false, /^"[\w-]{43}"$/],
    ['"a,b"', true, /^W\/"[\w-]{43}"$/],
    ['a"b', false, /^"[\w-]{43}"$/],
    ['naïve', true, /^W\/"[\w-]{43}"$/],
    ['a\r\nSet-Cookie: x=1', false, /^"[\w-]{43}"$/],
    ['x'.repeat(129), false, /^"[\w-]{43}"$/]
  ]
  for (const [text, weak, expected] of cases) t.match(entityTag(text, weak), expected, JSON.stringify(text).slice(0, 40))
})

t.test('the forms of HTTP dates', async (t) => {
  for (const [text, outcome] of [
    [SAME, 'fresh'], ['Thursday, 15-Jan-26 12:00:00 GMT', 'fresh'], ['Thu Jan 15 12:00:00 2026', 'fresh'], ['Thursday, 15-Jan-26 11:59:59 GMT', 'stale'],
    ['Thu Jan 15 11:59:59 2026', 'stale'], ['', 'unconditional'], ['yesterday', 'unconditional'], ['1994', 'unconditional'], ['2027-01-15T12:00:00Z', 'unconditional'],
    ['Mon, 30 Feb 2030 00:00:00 GMT', 'unconditional'], ['Sun, 06 Nov 1994', 'unconditional'], ['Sun Nov  6 08:49:37 1994', 'stale']
  ] as const) t.equal(evaluate('GET', { 'if-modified-since': text }, STRONG).outcome, outcome, text)
})

t.test('validators of a finished response', async (t) => {
  t.strictSame(validatorsOf('W/"a"', SAME), { etag: 'W/"a"', lastModified: CHANGED })
  t.strictSame(validatorsOf(undefined, new Date(CHANGED + 999)), { etag: null, lastModified: CHANGED })
  t.strictSame(validatorsOf('a', 'today'), { etag: null, lastModified: null })
  t.strictSame(validatorsOf(['"a"'], 3), { etag: null, lastModified: null })
})

t.test('an entity tag with a comma matches itself', async (t) => {
  const validators = { etag: '"a,b"', lastModified: null }
  t.equal(evaluate('PUT', { 'if-match': '"x", "a,b"' }, validators).outcome, 'stale')
  t.equal(evaluate('PUT', { 'if-match': '"a", "b"' }, validators).outcome, 'failed')
})
