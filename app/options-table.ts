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

const cookie: OptionEntries = {
  path: { types: ['string'], default: '`/`', what: 'the paths that it is sent to' },
  domain: { types: ['string'], default: 'the host', what: 'the hosts that it is sent to' },
  maxAge: { types: ['number'], default: 'the visit', what: 'how long it is kept, in milliseconds' },
  expires: { types: ['object'], default: 'the visit', what: 'until when it is kept, a Date' },
  httpOnly: { types: ['boolean'], default: '`true`', what: 'whether scripts cannot read it' },
  secure: { types: ['boolean', 'string'], default: '`auto`', what: 'whether it is for https only; `auto`: as the request came' },
  sameSite: { types: ['boolean', 'string'], default: '`lax`', what: '`lax`, `strict` (true), `none`, or false to say nothing' },
  partitioned: { types: ['boolean'], default: '`false`', what: 'whether it is kept apart for each top-level site' },
  priority: { types: ['string'], default: 'none', what: '`low`, `medium` or `high`, as @fastify/cookie takes it' },
  encode: { types: ['function'], default: 'none', what: 'encodes the value, as @fastify/cookie takes it' },
  signed: { types: ['boolean'], default: 'none', what: 'as @fastify/cookie takes it; the value is signed with `session.secret` in any case' }
}

const session: OptionEntries = {
  secret: { types: ['string', 'array'], default: 'none', env: 'SESSION_SECRET', what: 'signs the cookie: at least 32 characters, or several to rotate' },
  cookieName: { types: ['string'], default: '`sessionId`', what: 'the name of the cookie' },
  cookiePrefix: { types: ['string'], default: 'none', what: 'put in front of the value of the cookie' },
  cookie: { types: ['object'], default: '`HttpOnly`, `SameSite=Lax`, `Secure` on https', what: 'the attributes of the cookie; `maxAge` in milliseconds', fields: cookie },
  rolling: { types: ['boolean'], default: '`false`', what: 'whether a session that is used gets its cookie anew' },
  idGenerator: { types: ['function'], default: '24 random bytes', what: 'makes the ids of sessions' },
  store: { types: ['object'], default: 'memory; in the service with PostgreSQL: there', what: 'keeps sessions, as @fastify/session takes it; read at its slot when the request brings a cookie' },
  storeFailure: { types: ['string'], default: '`closed`', what: 'while such a store is away: `closed` answers with 503 whoever needs a session, `open` goes on with a fresh one that is not kept' },
  storeTimeout: { types: ['number'], default: '`2000`', what: 'milliseconds after which such a store is away; 0 for none', from: 0 }
}

const profiler: OptionEntries = {
  collect: { types: ['boolean'], default: '`true`', what: 'whether requests are profiled unless something else says so' },
  errors: { types: ['boolean'], default: '`false`', what: 'failures always, whatever `collect`, `matcher` and `sampling` say' },
  collectParameter: { types: ['string'], default: 'none', what: 'a query parameter that decides for its own request: `1` or `0`' },
  onlyExceptions: { types: ['boolean'], default: '`false`', what: 'only requests that failed' },
  minStatus: { types: ['number'], default: '`0`', what: 'a failure counts only if its answer has this status or a higher one', from: 0 },
  matcher: { types: ['string', 'RegExp', 'function'], default: 'all', what: 'only requests of a path, or those that a function picks' },
  sampling: { types: ['number'], default: '`1`', what: 'the share of requests from 0 to 1, failures always' },
  production: { types: ['boolean'], default: '`false`', what: 'whether requests are profiled outside debug mode too' },
  role: { types: ['string'], default: 'none', env: 'PROFILER_ROLE', what: 'the role that the profiler\'s pages need outside debug mode, where without it there are none' },
  storage: { types: ['string', 'object'], default: '`sqlite`', env: 'STORAGE_URL', what: '`sqlite`, `memory`, `postgres://…`, or a store of the application' },
  dataDir: { types: ['string'], default: '`node_modules/.cache/hindsight`', env: 'DATA_DIR', what: 'the folder of the SQLite file, `profiles.db`' },
  maxProfiles: { types: ['number'], default: '`10000`', what: 'how many profiles are kept', from: 1 },
  maxBytes: { types: ['number'], default: '256 MiB', what: 'how many bytes all profiles may take, as JSON', from: 1024 * 1024 },
  maxProfileBytes: { types: ['number'], default: '512 KiB', what: 'how many bytes one profile may take, as JSON', from: 4096 },
  openTelemetry: { types: ['boolean'], default: '`false`', what: 'whether each profile also becomes spans of `@opentelemetry/api`, which the application installs: see [OpenTelemetry](opentelemetry.md)' },
  maxQueue: { types: ['number'], default: '`4000`', what: 'how many profiles may wait to be written; those above are dropped and counted', from: 1 },
  collectors: {
    types: ['array'],
    default: 'none',
    what: 'collectors of the application, each with a panel: see [collectors](collectors.md)',
    items: {
      name: { types: ['string'], default: 'none', what: 'the key among the collectors of the profile, and the panel\'s in URLs' },
      collect: { types: ['function'], default: 'none', what: 'gathers the data, behind the response; may be asynchronous' },
      panel: {
        types: ['object'],
        default: 'the data as JSON',
        what: 'how the data are shown',
        fields: {
          label: { types: ['string'], default: 'the name', what: 'what the menu calls it' },
          count: { types: ['function'], default: 'none', what: 'the number beside the label' },
          problem: { types: ['function'], default: 'none', what: 'whether it is marked as a problem' },
          render: { types: ['function'], default: 'JSON', what: 'the markup of the panel' }
        }
      }
    }
  }
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

const csrf: OptionEntry = { types: ['boolean'], default: '`true`', what: 'whether a CSRF token is needed' }
const realm: OptionEntry = { types: ['string'], default: '`Secured Area`', what: 'what the credentials are for' }

const authenticators: OptionEntries = {
  custom: { types: ['array'], default: 'none', what: 'authenticators of the application, tried first' },
  basic: {
    types: ['boolean', 'object'],
    default: '`false`',
    what: 'HTTP basic authentication',
    fields: { realm, charset: { types: ['string'], default: 'none', what: '`UTF-8`: asks browsers to send it' } }
  },
  bearer: {
    types: ['object', 'false'],
    default: '`false`',
    what: 'bearer tokens',
    fields: {
      realm,
      tokens: {
        types: ['array'],
        default: 'none',
        what: 'tokens of the configuration',
        items: {
          sha256: { types: ['string'], default: 'none', what: 'the SHA-256 of the token, in hexadecimal' },
          user: { types: ['string'], default: 'none', what: 'the identifier of its user' }
        }
      },
      verify: { types: ['function'], default: 'none', what: 'finds out whose a token is' }
    }
  },
  login: {
    types: ['boolean', 'object'],
    default: '`false`',
    what: 'a login by a form or by JSON, kept in the session',
    fields: {
      loginPath: { types: ['string'], default: '`/login`', what: 'the page with the form' },
      checkPath: { types: ['string'], default: 'the login path', what: 'where the form is posted to' },
      usernameField: { types: ['string'], default: '`_username`', what: 'the field of the name' },
      passwordField: { types: ['string'], default: '`_password`', what: 'the field of the password' },
      defaultTargetPath: { types: ['string'], default: '`/`', what: 'where a browser goes that came from nowhere' },
      csrf
    }
  }
}

const logout: OptionEntries = {
  path: { types: ['string'], default: '`/logout`', what: 'the route that is made for it' },
  target: { types: ['string'], default: '`/`', what: 'the path where the browser goes then' },
  csrf,
  everywhere: { types: ['boolean'], default: '`false`', what: 'whether it ends all sessions of the user' }
}

const throttling: OptionEntries = {
  maxAttempts: { types: ['number'], default: '`5`', what: 'how many may fail for one name from one address; five times as many from one address' },
  interval: { types: ['number'], default: '`60000`', what: 'in how many milliseconds' },
  limiter: { types: ['function'], default: 'in memory; in the service with PostgreSQL: there', what: 'makes the counters, where several processes share them' }
}

const provider: OptionEntry = {
  types: ['object', 'function'],
  default: 'none',
  what: '`users`, or a function that finds a user by identifier',
  fields: {
    users: {
      types: ['array'],
      default: 'none',
      what: 'the users of the configuration',
      items: {
        identifier: { types: ['string'], default: 'none', what: 'the name, once' },
        password: { types: ['string'], default: 'none', what: 'the hash of the password; none: no login by password' },
        roles: { types: ['array'], default: 'none', what: 'the roles, without inherited ones', of: ['string'] },
        attributes: { types: ['object'], default: 'none', what: 'whatever else is known' }
      }
    }
  }
}

const firewall: OptionEntries = {
  name: { types: ['string'], default: 'none', what: 'its name in logs and profiles' },
  pattern: { types: ['string', 'RegExp'], default: 'all paths', what: 'the paths that it is for: whole segments, or an expression' },
  security: { types: ['false'], default: 'none', what: 'false: nobody is recognised, and nothing is checked' },
  provider: { types: ['string'], default: 'the only one', what: 'the provider of its users' },
  authenticators: { types: ['object'], default: 'none', what: '`basic`, `bearer`, `login` and `custom`: see [security](security.md)', fields: authenticators },
  logout: { types: ['boolean', 'object'], default: 'none', what: 'the route that ends a session: `path`, `target`, `csrf`, `everywhere`', fields: logout },
  throttling: { types: ['object', 'false'], default: '5 failures a minute', what: 'how many logins may fail: `maxAttempts`, `interval` (ms), `limiter`', fields: throttling },
  stateless: { types: ['boolean'], default: '`false`', what: 'whether the session is never looked at' }
}

const security: OptionEntries = {
  firewalls: { types: ['array'], default: 'none', what: 'the first whose pattern matches the path decides', items: firewall },
  providers: { types: ['object'], default: 'none', what: 'users by the name of their provider: a list with hashed passwords, or a function', fields: { '*': provider } },
  accessControl: {
    types: ['array'],
    default: 'none',
    what: 'who may come where, the first rule that matches decides',
    items: {
      path: { types: ['string', 'RegExp'], default: 'everywhere', what: 'the paths that the rule is for' },
      methods: { types: ['array'], default: 'all', what: 'the methods that it is for', of: ['string'] },
      ips: { types: ['array'], default: 'all', what: 'the addresses or ranges that it is for' },
      roles: { types: ['string', 'array'], default: 'none', what: 'the role or attribute that is needed, or several of which one is' }
    }
  },
  roleHierarchy: { types: ['object'], default: 'none', what: 'the roles that a role brings with it', fields: { '*': { types: ['string', 'array'], default: 'none', what: 'one role, or several', of: ['string'] } } },
  strategy: { types: ['string'], default: '`affirmative`', what: 'how votes are counted: `affirmative`, `consensus` or `unanimous`' },
  voters: { types: ['array'], default: 'roles', what: 'the voters of the application, beside those of roles and authentication' },
  hasher: { types: ['object'], default: 'Argon2id', what: 'verifies password hashes' }
}

/** Every option, once: what the start checks, and what `docs/options.md` shows. */
export const OPTIONS: Readonly<Record<keyof HindsightOptions, OptionEntry>> = {
  acceptLanguage: { types: ['boolean'], default: '`false`', what: 'whether `Accept-Language` chooses among `enabledLocales` where the route does not' },
  assets: { types: ['object'], default: 'none', what: 'the front end that Vite has built', fields: assets },
  charset: { types: ['boolean'], default: '`false`; `true` in the service', what: 'whether `charset=utf-8` is added to the `Content-Type` of text that names none' },
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
      reportOnly: { types: ['object', 'false'], default: 'none', what: 'directives that are only reported' },
      report: { types: ['boolean'], default: '`true`', what: 'whether documents report violations to their profiles, in debug mode: see [violations of a policy](blocked.md)' }
    }
  },
  converters: { types: ['object'], default: 'none', what: 'the application\'s own converters of path parameters, functions by name' },
  cors: { types: ['array'], default: 'none', what: 'CORS rules by path, the first that matches decides', items: cors },
  debug: { types: ['boolean'], default: 'unless `NODE_ENV` is `production`', env: 'NODE_ENV', what: 'whether failures are explained to those who may see it' },
  debugClients: { types: ['array'], default: 'none', env: 'DEBUG_CLIENTS', what: 'further addresses or CIDR ranges that may see the debug surface' },
  debugHosts: { types: ['array'], default: 'none', env: 'DEBUG_HOSTS', what: 'further host names that it may be asked for by, or by pages of; `*` for any' },
  defaultLocale: { types: ['string'], default: '`en`', what: 'the locale of a request that names none' },
  earlyHints: { types: ['boolean'], default: '`false`', what: 'whether a route\'s preloads go out as `103 Early Hints`' },
  editor: { types: ['string'], default: 'none', env: 'EDITOR_URL', what: 'the editor that links to source open: `vscode`, `vscode-insiders`, `vscodium`, `cursor`, `windsurf`, `zed`, `webstorm`, `idea`, `phpstorm`, `sublime`, `textmate`, `macvim`, `emacs`, or a URL with `%f`, `%l` and `%c` (`{file}`, `{line}`, `{column}`)' },
  editorPaths: { types: ['object'], default: 'none', env: 'EDITOR_PATHS', what: 'where folders of the service lie for the editor, as in `{ \'/app\': \'/home/me/project\' }`; in the environment `/app=/home/me/project`, separated by commas', fields: { '*': { types: ['string'], default: 'the same', what: 'the folder in the coordinates of the editor' } } },
  enabledLocales: { types: ['array'], default: 'any', what: 'the locales that the application speaks, as language tags' },
  health: {
    types: ['boolean', 'object'],
    default: '`false`',
    env: 'HEALTH',
    what: 'routes for whoever watches over the process, ahead of the lifecycle: no login, no profile; in the environment `on`, or the paths of both, separated by a comma',
    fields: {
      live: { types: ['string'], default: '`/livez`', what: 'answers 200 as long as the process does' },
      ready: { types: ['string'], default: '`/readyz`', what: 'answers 200, and 503 while the process ends, where the store of sessions is away or one of `needs` is' },
      needs: { types: ['array'], default: 'none', what: 'functions that are asked too, at most once a second: what throws, rejects or takes more than two seconds is away', of: ['function'] }
    }
  },
  leave: { types: ['array'], default: 'none', what: 'in `full` mode, names of listeners that are left to the application: they keep their places, and do nothing', of: ['string'] },
  lifecycle: { types: ['string'], default: '`observe`; `full` in the service', what: '`observe` shows what the application does and changes nothing; a listener is switched on by giving its option. `full` runs all 42 listeners, and sets the error handler and the not-found handler' },
  localeAwareServices: { types: ['object'], default: 'none', what: 'what `request.services` has: by name, a function of the locale or an object with `withLocale`' },
  mask: { types: ['array'], default: 'none', what: 'names of headers and fields to mask beside the built-in ones: whole names, or expressions' },
  noIndex: { types: ['boolean'], default: 'in debug mode', what: 'whether responses say `X-Robots-Tag: noindex`' },
  pagination: { types: ['object'], default: 'see below', what: 'how the fields of the query are called, and what holds for routes that do not say', fields: pagination },
  profiler: { types: ['string', 'object', 'false'], default: '`all`', env: 'PROFILER', what: '`all`; `errors`: failures of the server (500 and above) only, in production too; false for none; or in detail which requests are profiled, where and how much of them is kept', fields: profiler },
  referrerPolicy: { types: ['array', 'false'], default: '`no-referrer`, `strict-origin-when-cross-origin`', what: 'the policies of `Referrer-Policy`, the last one that a browser knows wins' },
  security: { types: ['object'], default: 'none', what: 'firewalls, users, access rules and voters', fields: security },
  serverTiming: { types: ['boolean'], default: '`false`', what: 'whether responses say by `Server-Timing` where the time went, in debug mode and to those who may see it: see [OpenTelemetry](opentelemetry.md)' },
  session: { types: ['object', 'false'], default: 'none; on in the service', what: 'sessions', fields: session },
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
