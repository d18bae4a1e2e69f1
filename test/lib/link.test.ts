import t from 'tap'
import LinkHeader from 'http-link-header'
import { serializeLink, uriReference, type Link } from '../../lib/link.js'

t.test('the examples of RFC 8288, section 3.5, are written', async t => {
  const cases: Array<[Link, string]> = [
    [{ href: 'http://example.com/TheBook/chapter2', rel: 'previous', attributes: { title: 'previous chapter' } },
      '<http://example.com/TheBook/chapter2>; rel="previous"; title="previous chapter"'],
    [{ href: '/', rel: 'http://example.net/foo' }, '</>; rel="http://example.net/foo"'],
    [{ href: '/terms', rel: 'copyright', attributes: { anchor: '#foo' } }, '</terms>; rel="copyright"; anchor="#foo"'],
    [{ href: '/TheBook/chapter4', rel: 'next', attributes: { title: 'nächstes Kapitel' } },
      '</TheBook/chapter4>; rel="next"; title*=UTF-8\'\'n%C3%A4chstes%20Kapitel'],
    [{ href: 'http://example.org/', rel: 'start http://example.net/relation/other' }, '<http://example.org/>; rel="start http://example.net/relation/other"']
  ]
  for (const [link, expected] of cases) t.equal(serializeLink(link), expected)
})

t.test('target attributes are quoted or encoded', async t => {
  for (const [attributes, expected] of [
    [{ as: 'font', type: 'font/woff2', crossorigin: true }, '; as="font"; type="font/woff2"; crossorigin'],
    [{ crossorigin: false, media: null, as: undefined }, ''],
    [{ imagesizes: '50vw', count: 3 }, '; imagesizes="50vw"; count="3"'],
    [{ title: 'a "quoted" \\ word' }, '; title="a \\"quoted\\" \\\\ word"'],
    [{ title: 'é' }, "; title*=UTF-8''%C3%A9"],
    [{ title: '' }, '; title=""']
  ] as const) t.equal(serializeLink({ rel: 'x', href: '/', attributes }), `</>; rel="x"${expected}`)
})

const HOSTILE = ['a>; rel="evil', 'a"; rel="evil', 'a\r\nSet-Cookie: x=1', 'a, <b>; rel=evil', "a'\\\"\0", 'a\u2028\ud800b', 'ünï', '\\', 'a\tb', '%zz', '<>']

t.test('no value splits the header or ends its part early', async t => {
  for (const text of HOSTILE) {
    for (const link of [
      { rel: 'next', href: text },
      { rel: 'next', href: '/', attributes: { title: text } },
      { rel: 'next', href: '/', attributes: { anchor: text } }
    ]) {
      const value = serializeLink(link)
      t.match(value, /^[\x20-\x7e]+$/)
      const { refs } = LinkHeader.parse(value)
      t.same(refs.map(({ rel }) => rel), ['next'], value)
    }
  }
})

t.test('a valid URI reference is unchanged', async t => {
  for (const [text, expected] of [
    ['https://a.test:8080/b/c?d=e&f=%20#g', 'https://a.test:8080/b/c?d=e&f=%20#g'],
    ['//[::1]/', '//[::1]/'],
    ['/a b', '/a%20b'],
    ['/ü', '/%C3%BC'],
    ['/100%', '/100%25'],
    ["/!$&'()*+,;=:@~", "/!$&'()*+,;=:@~"],
    ['', '']
  ] as const) t.equal(uriReference(text), expected)
})

t.test('an invalid link is an error that names the part', async t => {
  for (const [link, message] of [
    [{ rel: '', href: '/' }, 'Link: "" is not a relation type (RFC 8288, section 3.3)'],
    [{ rel: 'next"; x="', href: '/' }, 'Link: "next";" is not a relation type (RFC 8288, section 3.3)'],
    [{ rel: 'a\r\nb', href: '/' }, 'Link: "a\r\nb" is not a relation type (RFC 8288, section 3.3)'],
    [{ rel: 'next  last', href: '/' }, 'Link: "" is not a relation type (RFC 8288, section 3.3)'],
    [{ rel: 'next', href: '/', attributes: { 'a b': 'x' } }, 'Link: "a b" is not the name of a target attribute (RFC 8288, section 3.4)'],
    [{ rel: 'next', href: '/', attributes: { REL: 'x' } }, 'Link: "REL" is not the name of a target attribute (RFC 8288, section 3.4)']
  ] as const) t.throws(() => serializeLink(link), { message })
})
