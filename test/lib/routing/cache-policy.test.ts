import t from 'tap'
import { entityTag, evaluate, type Outcome, type Validators } from '../../../plugins/http-cache.js'

const CHANGED = 'Thu, 15 Jan 2026 12:00:00 GMT'
const BEFORE = 'Thu, 15 Jan 2026 11:59:59 GMT'
const SAME = CHANGED
const AFTER = 'Thu, 15 Jan 2026 12:00:01 GMT'
const STRONG: Validators = { etag: '"xyzzy"', lastModified: CHANGED }
const WEAK: Validators = { etag: 'W/"xyzzy"', lastModified: CHANGED }
const TAG_ONLY: Validators = { etag: '"xyzzy"', lastModified: null }
const DATE_ONLY: Validators = { etag: null, lastModified: CHANGED }

type Case = [name: string, headers: Record<string, string>, validators: Validators, outcome: Outcome]

const cases: Case[] = [
  ['no precondition', {}, STRONG, 'unconditional'],
  ['If-Range is about ranges', { 'if-range': '"xyzzy"' }, STRONG, 'unconditional'],

  ['If-None-Match: the tag', { 'if-none-match': '"xyzzy"' }, STRONG, 'fresh'],
  ['If-None-Match: for HEAD', { 'if-none-match': '"xyzzy"' }, STRONG, 'fresh'],
  ['If-None-Match: another tag', { 'if-none-match': '"r2d2"' }, STRONG, 'stale'],
  ['If-None-Match: case matters', { 'if-none-match': '"XYZZY"' }, STRONG, 'stale'],
  ['If-None-Match: weak against strong', { 'if-none-match': 'W/"xyzzy"' }, STRONG, 'fresh'],
  ['If-None-Match: strong against weak', { 'if-none-match': '"xyzzy"' }, WEAK, 'fresh'],
  ['If-None-Match: weak against weak', { 'if-none-match': 'W/"xyzzy"' }, WEAK, 'fresh'],
  ['If-None-Match: one of a list', { 'if-none-match': '"r2d2", W/"xyzzy" ,"c3piozzzz"' }, STRONG, 'fresh'],
  ['If-None-Match: a list without it', { 'if-none-match': 'W/"r2d2", "c3piozzzz"' }, STRONG, 'stale'],
  ['If-None-Match: half of a tag with a comma', { 'if-none-match': '"b' }, { etag: '"b,c"', lastModified: null }, 'stale'],
  ['If-None-Match: *', { 'if-none-match': '*' }, STRONG, 'fresh'],
  ['If-None-Match: * where only a date is known', { 'if-none-match': '*' }, DATE_ONLY, 'fresh'],
  ['If-None-Match: * where nothing is known', { 'if-none-match': '*' }, { etag: null, lastModified: null }, 'unconditional'],
  ['If-None-Match: unquoted', { 'if-none-match': 'xyzzy' }, STRONG, 'stale'],
  ['If-None-Match: the empty tag', { 'if-none-match': '""' }, { etag: '""', lastModified: null }, 'fresh'],

  ['If-Modified-Since: the same second', { 'if-modified-since': SAME }, STRONG, 'fresh'],
  ['If-Modified-Since: later', { 'if-modified-since': AFTER }, STRONG, 'fresh'],
  ['If-Modified-Since: earlier', { 'if-modified-since': BEFORE }, STRONG, 'stale'],
  ['If-Modified-Since: malformed', { 'if-modified-since': 'yesterday' }, STRONG, 'stale'],
  ['If-Modified-Since: without a date of the resource', { 'if-modified-since': AFTER }, TAG_ONLY, 'stale'],
  ['If-Modified-Since: ignored beside If-None-Match', { 'if-none-match': '"r2d2"', 'if-modified-since': AFTER }, STRONG, 'stale'],
  ['If-Modified-Since: even where there is no tag', { 'if-none-match': '"r2d2"', 'if-modified-since': AFTER }, DATE_ONLY, 'stale']
]

t.test('preconditions have the order of RFC 9110, section 13.2.2', async (t) => {
  for (const [name, headers, validators, outcome] of cases) {
    t.equal(evaluate(headers, validators), outcome, name)
  }
})

t.test('a hostile list matches nothing', async (t) => {
  for (const list of ['"'.repeat(60_000), 'W/'.repeat(30_000), `"${'a'.repeat(60_000)}`]) {
    t.equal(evaluate({ 'if-none-match': list }, STRONG), 'stale')
  }
})

t.test('an entity tag is quoted if its characters allow that, and hashed otherwise', async (t) => {
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

t.test('an entity tag with a comma matches only itself', async (t) => {
  t.equal(evaluate({ 'if-none-match': '"a", "b"' }, { etag: '"a,b"', lastModified: null }), 'stale')
})
