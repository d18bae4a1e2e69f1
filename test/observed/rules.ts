import { METHODS, STATUS_CODES } from 'node:http'
import type { Case, ComparedHeaders, Expectation } from './case.js'

/** A difference that is meant: for which cases it holds, and what is expected of us instead. */
export interface Rule {
  name: string
  reason: string
  applies: (one: Case, expected: Expectation) => boolean
  expect: (expected: Expectation, one: Case) => Expectation
}

const WITH_SESSION = 'max-age=0, must-revalidate, private'
const TOKEN_PATH = /^\/_(?:profiler|wdt)\/([0-9a-f]{6})$/
const FORM_OF: Readonly<Record<string, string>> = { json: 'application/json', txt: 'text/plain', md: 'text/markdown', html: 'text/html', xml: 'text/html' }
const FORMS = ['text/html', 'application/problem+json', 'application/json', 'text/plain', 'text/markdown']

/** The differences between the reference and us, in the order in which they are applied. */
export const rules: readonly Rule[] = [
  {
    name: 'the front controller is a path like any other',
    reason: 'There is no index.php here: nothing is taken off the path, and only a route would make it one.',
    applies: (one) => /^\/index\.php(?:\/|$)/.test(pathOf(one)),
    expect: (expected, one) => notFound({ ...expected, link: originOf(one), policy: null }, one)
  },
  {
    name: 'fragments are not served',
    reason: 'LIFECYCLE, Routing: `GET /_fragment?_hash=…` has no route and is not found like any other, whatever its hash.',
    applies: (one, { status }) => pathOf(one) === '/_fragment' && status === 403,
    expect: notFound
  },
  {
    name: 'a method that the parser supports is not found',
    reason: 'The 501 came from the web server in front of the reference. Every method that Node.js parses is routed.',
    applies: (one, { status }) => status === 501 && METHODS.includes(one.request.method),
    expect: (expected, one) => notFound(errorPage(expected, one), one)
  },
  {
    name: 'a method that the parser does not support is malformed',
    reason: 'The 501 came from the web server in front of the reference. What the parser refuses is 400 (LIFECYCLE, Malformed messages).',
    applies: (one, { status }) => status === 501 && !METHODS.includes(one.request.method),
    expect: (expected, one) => failure(errorPage(expected, one), 400, /^Malformed HTTP message: Invalid method/)
  },
  {
    name: 'a connection is not closed without an answer',
    reason: 'LIFECYCLE, Malformed messages: they are answered in the same voice, with 400.',
    applies: (_one, { status }) => status === null,
    expect: (expected, one) => failure(errorPage(expected, one), 400, /^(?:Malformed HTTP message: |Invalid URL )./)
  },
  {
    name: 'an ambiguous framing is refused',
    reason: 'README: a length beside a transfer coding, a space in a header\'s name, a header without a colon are ways to smuggle requests.',
    applies: ({ bytes }, { status }) => status === 404 && isAmbiguous(bytes),
    expect: (expected) => failure(expected, 400, /^Malformed HTTP message: ./)
  },
  {
    name: 'a version that is only claimed is refused',
    reason: 'README: HTTP/2 is not spoken on an HTTP/1 connection.',
    applies: ({ bytes }) => /^\S+ \S+ HTTP\/(?!1\.[01]\r)/.test(bytes),
    expect: (expected) => failure(expected, 400, 'HTTP/2.0 is not supported on this connection; use HTTP/1.1.')
  },
  {
    name: 'a URL that cannot be decoded is refused',
    reason: 'LIFECYCLE, request validation: it rejects a URL that cannot be decoded.',
    applies: (one, { status }) => status !== 400 && !isDecodable(pathOf(one)),
    expect: (expected, one) => failure(expected, 400, `Invalid URL "${one.request.target}": its percent-encoding cannot be decoded as UTF-8.`)
  },
  {
    name: 'a field of the body does not override the method',
    reason: 'Fastify routes before it reads a body, and a body that nobody asked for is not read for that. The header and the query do override.',
    applies: ({ request, bytes }, { status }) => request.method === 'POST' && status === 200 && /\r\n\r\n_method=/.test(bytes),
    expect: (expected, one) => {
      const allowed = 'GET, PUT, DELETE'
      const answer = failure(errorPage(expected, one), 405, `No route found for "${one.request.method} ${urlOf(one)}": Method Not Allowed (Allow: ${allowed})`)
      return {
        ...answer,
        cause: `No routes found for "${one.request.method} ${slashed(pathOf(one))}": the path has routes for ${allowed}`,
        headers: { ...answer.headers, allow: allowed }
      }
    }
  },
  {
    name: 'the cause of a 405 has a message',
    reason: 'README: it says what was looked up, and which methods exist.',
    applies: (_one, { status, cause }) => status === 405 && cause === '',
    expect: (expected, one) => ({
      ...expected,
      cause: `No routes found for "${one.request.method} ${slashed(pathOf(one))}": the path has routes for ${expected.headers.allow}`
    })
  },
  {
    name: 'a 401 is explained',
    reason: 'README: the diagnostic page, or its negotiated form, with `WWW-Authenticate`; the reference\'s has no body.',
    applies: (_one, { status, message }) => status === 401 && message === null,
    expect: (expected, one) => {
      const message = headerOf(one, 'authorization') === '' ? 'Full authentication is required to access this resource.' : 'Invalid credentials.'
      if (one.config === 'prod') return { ...expected, title: 'An Error Occurred: Unauthorized' }
      return withMessage(expected, message)
    }
  },
  {
    name: 'a login by HTTP basic is not kept in a session',
    reason: 'Its credentials come with every request (docs/reference/security.md): no session is started for it, nor for a 401 that asks for it.',
    applies: (one, { status, headers }) => headers['cache-control'] === WITH_SESSION && (status === 401 || /^Basic /i.test(headerOf(one, 'authorization'))),
    expect: (expected) => withHeaders({ ...expected, session: false }, { 'cache-control': 'no-cache, private' })
  },
  {
    name: 'a parameter that cannot be converted is not found',
    reason: 'LIFECYCLE, parameter converter: not found, with the reason as cause. The reference has none for numbers, and the call of the handler fails.',
    applies: (_one, { message }) => typeof message === 'string' && /must be of type \w+, \w+ given/.test(message),
    expect: (expected) => ({ ...failure(expected, 404, /^"\w+" object not found by the "\w+" converter\./), cause: /^".*" is not an? / })
  },
  {
    name: 'errors of the language are those of JavaScript',
    reason: 'What PHP says of its own mistakes has no counterpart; the fixture makes the mistake that is nearest to it.',
    applies: (_one, { status, debugException }) =>
      status === 500 && typeof debugException === 'string' && /^Warning: Undefined |^Attempted to call an undefined method /.test(debugException),
    expect: (expected) => {
      const raised = /^Cannot read properties of undefined \(reading 'missing'\)|^controller\.undefinedMethodCall is not a function/
      return { ...expected, debugException: raised, ...(expected.message !== null && { message: raised, title: raised }) }
    }
  },
  {
    name: 'an unknown token is explained',
    reason: 'README: it is 404, and the page says which token was not found. The reference\'s bar is empty.',
    applies: (one, { status }) => status === 404 && TOKEN_PATH.test(pathOf(one)),
    expect: (expected, one) => ({ ...withMessage(expected, `Token "${TOKEN_PATH.exec(pathOf(one))?.[1]}" was not found.`), cause: null })
  },
  {
    name: 'the profiler\'s answers leave no profile, its refusals do',
    reason: 'To look at the newest profiles would push them out; a refusal is one like any other. The reference stores the redirect to its list alone.',
    applies: (one) => /^\/_(?:profiler|wdt)(?:\/|$)/.test(pathOf(one)),
    expect: (expected, one) => ({ ...expected, link: (expected.status ?? 0) >= 400 ? originOf(one) : null })
  },
  {
    name: 'the link to a profile is on the origin of the request',
    reason: 'README: a preflight\'s `X-Debug-Token-Link` says `http://localhost` in the reference.',
    applies: (one, { link }) => isPreflight(one) && link === 'http://localhost',
    expect: (expected, one) => ({ ...expected, link: originOf(one) })
  },
  {
    name: 'a target in absolute form is about its own authority',
    reason: 'RFC 9112, section 3.2.2: the host header is ignored beside it. The reference reads the header.',
    applies: (one, { link }) => link !== null && targetAuthority(one) !== undefined && targetAuthority(one) !== headerOf(one, 'host'),
    expect: (expected, one) => ({
      ...withMessage(expected, `No route found for "${one.request.method} http://${targetAuthority(one)}${pathOf(one)}"`),
      link: `http://${targetAuthority(one)}`
    })
  },
  {
    name: 'the answer to a preflight is plain text',
    reason: 'It is empty, or says in one line what is not allowed: no page.',
    applies: (one) => isPreflight(one),
    expect: (expected) => ({ ...expected, mediaType: 'text/plain' })
  },
  {
    name: 'every non-empty Referer is appended',
    reason: 'README: the observed document has no exception, so `0` is one too.',
    applies: (one, { message, status }) => status === 404 && typeof message === 'string' && message.startsWith('No route found') &&
      !message.includes('(from "') && headerOf(one, 'referer').trim() !== '',
    expect: (expected, one) => withMessage(expected, `${String(expected.message)} (from "${headerOf(one, 'referer')}")`)
  },
  {
    name: 'the lookup names the path with one trailing slash, and no full stop',
    reason: 'README and section 7 of the observed document: `No routes found for "<path>/"`, for every method.',
    applies: (_one, { cause }) => typeof cause === 'string' && /^No routes found for ".*"\.$/.test(cause),
    expect: (expected, one) => ({ ...expected, cause: `No routes found for "${slashed(pathOf(one))}"` })
  },
  {
    name: 'octets that are no UTF-8 appear as U+FFFD',
    reason: 'X-Debug-Exception is text in UTF-8: it says what the page says, rather than octets that are no text.',
    applies: (_one, { message, debugException }) => typeof message === 'string' && message.includes('\ufffd') && debugException !== message,
    expect: (expected) => ({ ...expected, debugException: expected.message })
  },
  {
    name: 'errors have the form that the client requested',
    reason: 'README: negotiated between HTML, JSON, plain text and Markdown, with no serializer to install.',
    applies: (one, { mediaType, status }) =>
      status !== null && status >= 400 && mediaType !== null && !isPreflight(one) && preferred(one) !== mediaType && mediaType !== 'text/xml',
    expect: (expected, one) => ({ ...expected, mediaType: preferred(one), title: null })
  },
  {
    name: 'there is no XML',
    reason: 'XML is none of the forms of LIFECYCLE; whoever asks for nothing that we have gets the page.',
    applies: (_one, { mediaType }) => mediaType === 'text/xml',
    expect: (expected) => ({ ...expected, mediaType: 'text/html' })
  },
  {
    name: 'a negotiated error says so to caches',
    reason: 'RFC 9110, section 12.5.5: what was chosen by `Accept` varies by it. The reference negotiates with a serializer only.',
    applies: (one, { status, mediaType, headers }) =>
      status !== null && status >= 400 && mediaType !== null && headers.vary === undefined && !isPreflight(one) && formOf(one) === undefined,
    expect: (expected) => withHeaders(expected, { vary: 'accept' })
  },
  {
    name: 'a form that the path names is not negotiated',
    reason: 'RFC 9110, section 12.5.5: `/_error/404.json` is JSON whatever `Accept` says.',
    applies: (one, { headers }) => headers.vary === 'accept' && formOf(one) !== undefined,
    expect: ({ headers: { vary: _vary, ...headers }, ...expected }) => ({ ...expected, headers })
  },
  {
    name: 'a redirect to the other form of the path is the same in every language',
    reason: 'It is answered by the router, which runs before the locale listener; in the reference a controller redirects.',
    applies: (one, { status, headers }) => status === 301 && headers.vary === 'accept-language' && headers.location !== undefined,
    expect: ({ headers: { vary: _vary, ...headers }, ...expected }) => ({ ...expected, headers })
  },
  {
    name: 'the reason of a status is that of Node.js',
    reason: 'The phrases come from its table, which writes 418 in other letters.',
    applies: (_one, { status, title }) => status !== null && title !== null && typeof title === 'string' && title.startsWith('An Error Occurred: '),
    expect: (expected) => ({ ...expected, title: `An Error Occurred: ${STATUS_CODES[expected.status ?? 0]}` })
  },
  {
    name: 'Cache-Control is the same for HTTP/1.0',
    reason: 'The reference rewrites it for old clients, which do not read it; caches between it and the client do.',
    applies: ({ bytes }, { headers }) => /^.* HTTP\/1\.0\r/.test(bytes) && headers['cache-control'] !== undefined,
    expect: (expected) => withHeaders(expected, { 'cache-control': 'no-cache, private' })
  },
  {
    name: 'every path is kept out of frames',
    reason: 'LIFECYCLE, clickjacking: `DENY` by default. The reference\'s rule was for paths that begin with a slash, and `*` does not.',
    applies: (_one, { headers, mediaType }) => headers['x-frame-options'] === undefined && headers.location === undefined && mediaType !== null,
    expect: (expected) => withHeaders(expected, { 'x-frame-options': 'DENY' })
  },
  {
    name: 'the legacy auditor is off',
    reason: 'README: `X-XSS-Protection: 0`.',
    applies: (_one, { headers }) => headers['x-xss-protection'] !== undefined,
    expect: (expected) => withHeaders(expected, { 'x-xss-protection': '0' })
  },
  {
    name: 'the diagnostic page has a strict policy of its own',
    reason: 'LIFECYCLE, removal of the content security policy: hostile content in an error message cannot run. The reference sends none.',
    applies: (_one, { debugException }) => debugException !== null,
    expect: (expected) => ({ ...expected, policy: 'own' })
  },
  {
    name: 'the title is the root cause',
    reason: 'The title, the heading, the list and the toolbar name one error. The reference has the last exception, which wraps it.',
    applies: (_one, { status, title, cause }) => status === 500 && typeof title === 'string' && typeof cause === 'string',
    expect: (expected) => ({ ...expected, title: `${String(expected.cause)} (500 Internal Server Error)` })
  },
  {
    name: 'what has debug data is not stored',
    reason: 'LIFECYCLE, Access to the debug surface: the diagnostic page and a page with the toolbar are `no-store`.',
    applies: ({ id }, { debugException, link, mediaType, headers }) => debugException !== null ||
      (link !== null && mediaType === 'text/html' && headers.location === undefined && !/^ok-(?:home-ajax|nobody|attachment)$/.test(id)),
    expect: (expected) => withHeaders(expected, { 'cache-control': 'no-store' })
  },
  {
    name: 'what the parser refuses is answered by a short page',
    reason: 'LIFECYCLE, Malformed messages: such a message never becomes a request, so that no listener sets headers and no pass names a profile.',
    applies: (_one, { message }) => message instanceof RegExp && message.source.includes('Malformed HTTP message'),
    expect: (expected, one) => ({
      ...expected,
      mediaType: preferred(one) === 'text/html' ? 'text/html' : 'application/problem+json',
      title: '400 Bad Request',
      message: null,
      cause: null,
      debugException: null,
      link: null,
      session: false,
      policy: "default-src 'none'; frame-ancestors 'none'",
      headers: { 'x-content-type-options': 'nosniff' }
    })
  }
]

/** An expectation with another message, at each place of the message. */
function withMessage (expected: Expectation, message: string | RegExp): Expectation {
  const status = expected.status ?? 0
  const suffix = ` (${status} ${STATUS_CODES[status]})`
  return {
    ...expected,
    message,
    debugException: message,
    title: typeof message === 'string' ? `${message}${suffix}` : message
  }
}

function failure (expected: Expectation, status: number, message: string | RegExp): Expectation {
  return { ...withMessage({ ...expected, status }, message), cause: typeof message === 'string' ? message : /./ }
}

function notFound (expected: Expectation, one: Case): Expectation {
  return {
    ...failure(expected, 404, `No route found for "${one.request.method} ${urlOf(one)}"`),
    cause: `No routes found for "${slashed(pathOf(one))}"`
  }
}

/** What every diagnostic page has, where the reference had none. */
function errorPage (expected: Expectation, one: Case): Expectation {
  return {
    ...expected,
    mediaType: 'text/html',
    policy: null,
    link: originOf(one),
    headers: {
      'cache-control': 'no-cache, private',
      'referrer-policy': 'no-referrer, strict-origin-when-cross-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'x-robots-tag': 'noindex',
      'x-xss-protection': '0'
    }
  }
}

function withHeaders (expected: Expectation, headers: ComparedHeaders): Expectation {
  return { ...expected, headers: { ...expected.headers, ...headers } }
}

function headerOf ({ request: { headers } }: Case, name: string): string {
  return headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value).join(', ')
}

function pathOf ({ request: { target } }: Case): string {
  if (target === '*') return '/*'
  return target.replace(/^[a-z]+:\/\/[^/]*/, '').replace(/\?.*$/s, '')
}

function targetAuthority ({ request: { target } }: Case): string | undefined {
  return /^[a-z]+:\/\/([^/?#]+)/.exec(target)?.[1]
}

function originOf (one: Case): string {
  return `http://${headerOf(one, 'host')}`
}

function urlOf (one: Case): string {
  return `${originOf(one)}${pathOf(one)}`
}

function slashed (path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}

function isDecodable (path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

function isAmbiguous (bytes: string): boolean {
  const [, ...fields] = bytes.slice(0, bytes.indexOf('\r\n\r\n')).split('\r\n')
  const names = fields.map((field) => field.slice(0, Math.max(0, field.indexOf(':'))))
  return names.some((name) => name === '' || /\s/.test(name)) ||
    ['content-length', 'transfer-encoding'].every((name) => names.some((other) => other.toLowerCase() === name))
}

// Fetch, section 3.3.2.
function isPreflight (one: Case): boolean {
  return one.request.method === 'OPTIONS' && headerOf(one, 'origin') !== '' && headerOf(one, 'access-control-request-method') !== ''
}

/** The form that the preview of an error names in its path. */
function formOf (one: Case): string | undefined {
  const [, extension] = /^\/_error\/\d{3}\.([a-z]+)$/.exec(pathOf(one)) ?? []
  return extension === undefined ? undefined : FORM_OF[extension] ?? 'text/html'
}

/** Which of our forms a client likes best; the page where it likes none. */
function preferred (one: Case): string {
  const named = formOf(one)
  if (named !== undefined) return named
  const wishes = headerOf(one, 'accept').split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim())
    return { type, q: Number(parameters.find((text) => text.startsWith('q='))?.slice(2) ?? 1) }
  })
  const [best] = wishes.filter(({ type }) => FORMS.includes(type)).sort((a, b) => b.q - a.q)
  return best?.type ?? 'text/html'
}
