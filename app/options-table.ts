import type { OptionEntries, OptionEntry } from './check-options.js'
import type { HindsightOptions } from './options.js'

const path: OptionEntry = { types: ['string', 'RegExp'], default: 'everywhere', what: 'a prefix of the path, or an expression that it must match' }

const cors: OptionEntries = {
  path,
  origin: { types: ['boolean', 'string', 'RegExp', 'array', 'function'], default: '`false`', what: 'the origins that are allowed, as @fastify/cors takes them; `*` for any' },
  credentials: { types: ['boolean'], default: '`false`', what: 'whether credentials may be sent' },
  maxAge: { types: ['number'], default: 'none', what: 'seconds for which a preflight holds' },
  methods: { types: ['array'], default: 'GET, HEAD, POST, PUT, PATCH, DELETE', what: 'the methods that are allowed' },
  allowedHeaders: { types: ['array'], default: 'those asked for', what: 'the request headers that are allowed' },
  exposedHeaders: { types: ['array'], default: 'none', what: 'the response headers that scripts may read' }
}

const session: OptionEntries = {
  secret: { types: ['string', 'array'], default: 'none', env: 'SESSION_SECRET', what: 'signs the cookie: at least 32 characters, or several to rotate' },
  cookieName: { types: ['string'], default: '`sessionId`', what: 'the name of the cookie' },
  cookiePrefix: { types: ['string'], default: 'none', what: 'put in front of the value of the cookie' },
  cookie: { types: ['object'], default: '`HttpOnly`, `SameSite=Lax`, `Secure` on https', what: 'the attributes of the cookie; `maxAge` in milliseconds' },
  rolling: { types: ['boolean'], default: '`true`', what: 'whether a session that is used gets its cookie anew' },
  idGenerator: { types: ['function'], default: '24 random bytes', what: 'makes the ids of sessions' },
  store: { types: ['object'], default: 'memory', what: 'keeps sessions, as @fastify/session takes it; read at its slot when the request brings a cookie' }
}

const profiler: OptionEntries = {
  collect: { types: ['boolean'], default: '`true`', what: 'whether requests are profiled unless `collectParameter` says otherwise' },
  collectParameter: { types: ['string'], default: 'none', what: 'a query parameter that decides for its own request: `1` or `0`' },
  onlyExceptions: { types: ['boolean'], default: '`false`', what: 'only requests that failed' },
  matcher: { types: ['string', 'RegExp', 'function'], default: 'all', what: 'only requests of a path, or those that a function picks' },
  sampling: { types: ['number'], default: '`1`', what: 'the share of requests from 0 to 1, failures always' }
}

const pagination: OptionEntries = {
  page: { types: ['string'], default: '`page`', what: 'the query field of the page, from 1' },
  limit: { types: ['string'], default: '`limit`', what: 'the query field of the number of items' },
  sort: { types: ['string'], default: '`sort`', what: 'the query field of the field to sort by' },
  direction: { types: ['string'], default: '`direction`', what: 'the query field of `asc` or `desc`' },
  defaultLimit: { types: ['number'], default: '`20`', what: 'items of a page where the query does not say' },
  maxLimit: { types: ['number'], default: '`100`', what: 'the most items that a query may ask for' }
}

const assets: OptionEntries = {
  manifest: { types: ['string'], default: 'none', what: 'the path of the `manifest.json` that a Vite build writes' },
  base: { types: ['string'], default: '`/build/`', what: 'where the built files are served' },
  integrity: { types: ['boolean', 'string'], default: '`false`', what: 'integrity metadata of the tags: true, `sha256`, `sha384` or `sha512`' },
  root: { types: ['string'], default: 'that of the manifest', what: 'the folder of the built files' },
  nonce: { types: ['boolean'], default: 'with a policy', what: 'whether tags carry the nonces of the policy' }
}

const firewall: OptionEntries = {
  name: { types: ['string'], default: 'none', what: 'its name in logs and profiles' },
  pattern: { types: ['string', 'RegExp'], default: 'all paths', what: 'the paths that it is for: whole segments, or an expression' },
  security: { types: ['false'], default: 'none', what: 'false: nobody is recognised, and nothing is checked' },
  provider: { types: ['string'], default: 'the only one', what: 'the provider of its users' },
  authenticators: { types: ['object'], default: 'none', what: '`basic`, `bearer`, `login` and `custom`: see [security](security.md)' },
  logout: { types: ['boolean', 'object'], default: 'none', what: 'the route that ends a session: `path`, `target`, `csrf`' },
  throttling: { types: ['object', 'false'], default: '5 failures a minute', what: 'how many logins may fail: `maxAttempts`, `interval` (ms), `limiter`' },
  stateless: { types: ['boolean'], default: '`false`', what: 'whether the session is never looked at' }
}

const security: OptionEntries = {
  firewalls: { types: ['array'], default: 'none', what: 'the first whose pattern matches the path decides', items: firewall },
  providers: { types: ['object'], default: 'none', what: 'users by the name of their provider: a list with hashed passwords, or a function' },
  accessControl: {
    types: ['array'],
    default: 'none',
    what: 'who may come where, the first rule that matches decides',
    items: {
      path: { types: ['string', 'RegExp'], default: 'everywhere', what: 'the paths that the rule is for' },
      methods: { types: ['array'], default: 'all', what: 'the methods that it is for' },
      ips: { types: ['array'], default: 'all', what: 'the addresses or ranges that it is for' },
      roles: { types: ['string', 'array'], default: 'none', what: 'the role or attribute that is needed, or several of which one is' }
    }
  },
  roleHierarchy: { types: ['object'], default: 'none', what: 'the roles that a role brings with it' },
  strategy: { types: ['string'], default: '`affirmative`', what: 'how votes are counted: `affirmative`, `consensus` or `unanimous`' },
  voters: { types: ['array'], default: 'roles', what: 'the voters of the application, beside those of roles and authentication' },
  hasher: { types: ['object'], default: 'Argon2id', what: 'verifies password hashes' }
}

/** Every option, once: what the start checks, and what `docs/options.md` shows. */
export const OPTIONS: Readonly<Record<keyof HindsightOptions, OptionEntry>> = {
  acceptLanguage: { types: ['boolean'], default: '`false`', what: 'whether `Accept-Language` chooses among `enabledLocales` where the route does not' },
  assets: { types: ['object'], default: 'none', what: 'the front end that Vite has built', fields: assets },
  clickjacking: {
    types: ['array', 'false'],
    default: '`DENY` everywhere',
    what: 'who may frame which pages (`X-Frame-Options`)',
    items: { path, frameOptions: { types: ['string', 'false'], default: 'none', what: '`DENY`, `SAMEORIGIN`, or false for everybody' } }
  },
  contentSecurityPolicy: {
    types: ['object', 'false'],
    default: 'own origin only',
    what: 'the policies of responses',
    fields: {
      enforce: { types: ['object', 'false'], default: 'own origin only', what: 'directives that are enforced' },
      reportOnly: { types: ['object', 'false'], default: 'none', what: 'directives that are only reported' }
    }
  },
  converters: { types: ['object'], default: 'none', what: 'the application\'s own converters of path parameters, functions by name' },
  cors: { types: ['array'], default: 'none', what: 'CORS rules by path, the first that matches decides', items: cors },
  debug: { types: ['boolean'], default: '`false`', env: 'NODE_ENV', what: 'whether failures are explained to those who may see it' },
  debugClients: { types: ['array'], default: 'none', env: 'DEBUG_CLIENTS', what: 'further addresses or CIDR ranges that may see the debug surface' },
  debugHosts: { types: ['array'], default: 'none', env: 'DEBUG_HOSTS', what: 'further host names that it may be asked for by; `*` for any' },
  defaultLocale: { types: ['string'], default: '`en`', what: 'the locale of a request that names none' },
  earlyHints: { types: ['boolean'], default: '`false`', what: 'whether a route\'s preloads go out as `103 Early Hints`' },
  enabledLocales: { types: ['array'], default: 'any', what: 'the locales that the application speaks, as language tags' },
  localeAwareServices: { types: ['object'], default: 'none', what: 'what `request.services` has: by name, a function of the locale or an object with `withLocale`' },
  mask: { types: ['array'], default: 'none', what: 'names of headers and fields to mask beside the built-in ones: whole names, or expressions' },
  maxProfiles: { types: ['number'], default: '`500`', what: 'how many profiles are kept in memory' },
  noIndex: { types: ['boolean'], default: 'in debug mode', what: 'whether responses say `X-Robots-Tag: noindex`' },
  pagination: { types: ['object'], default: 'see below', what: 'how the fields of the query are called, and what holds for routes that do not say', fields: pagination },
  profiler: { types: ['object', 'false'], default: 'all requests', what: 'which requests are profiled, in debug mode', fields: profiler },
  referrerPolicy: { types: ['array', 'false'], default: '`no-referrer`, `strict-origin-when-cross-origin`', what: 'the policies of `Referrer-Policy`, the last one that a browser knows wins' },
  security: { types: ['object'], default: 'none', what: 'firewalls, users, access rules and voters', fields: security },
  session: { types: ['object', 'false'], default: 'on', what: 'sessions', fields: session },
  stackDepth: { types: ['number'], default: '`50`', what: 'how many frames a stack keeps in debug mode' },
  template: {
    types: ['object'],
    default: '`view`',
    what: 'how `config.template` is rendered',
    fields: { propertyName: { types: ['string'], default: '`view`', what: 'the `propertyName` that @fastify/view was registered with' } }
  },
  toolbar: { types: ['boolean'], default: '`true`', what: 'whether pages get the bar, in debug mode' },
  trustedHosts: { types: ['array'], default: 'any', env: 'TRUSTED_HOSTS', what: 'host names that requests may be addressed to; `*.example.com` for all below, or expressions' },
  trustedProxies: { types: ['array'], default: 'none', env: 'TRUSTED_PROXIES', what: 'addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal` whose forwarding headers are believed' },
  xssProtection: { types: ['string', 'false'], default: '`0`', what: 'the value of `X-XSS-Protection`' }
}
