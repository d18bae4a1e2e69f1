import t from 'tap'
import Fastify from 'fastify'
import { service } from '../../app/service.js'
import { LIFECYCLE_OPTIONS, PROCESS_OPTIONS, ROUTE_ATTRIBUTES, SERVER_OPTIONS, SERVICE_OPTIONS } from '../../lib/check-options.js'
import schema from '../../lib/options.schema.json' with { type: 'json' }
import ofPackage from '../../packages/hindsight/src/options.schema.json' with { type: 'json' }

const session = { secret: 'x'.repeat(32) }

t.test('the checked options are those of the two schemas', async (t) => {
  t.same([LIFECYCLE_OPTIONS, SERVER_OPTIONS, PROCESS_OPTIONS], [schema.service.properties, schema.server.properties, schema.process.properties])
  t.same(SERVICE_OPTIONS, { ...schema.service.properties, ...ofPackage.plugin.properties })
  t.same(ROUTE_ATTRIBUTES, { ...ofPackage.route.properties, ...schema.route.properties })
})

const mistakes: Array<[name: string, options: object, message: string]> = [
  ['a slip of the pen', { defaultLocal: 'en' }, 'Unknown option "defaultLocal"; did you mean "defaultLocale"?'],
  ['swapped neighbors', { cosr: [] }, 'Unknown option "cosr"; did you mean "cors"?'],
  ['another case', { Cors: [] }, 'Unknown option "Cors"; did you mean "cors"?'],
  ['a nested slip', { session: { ...session, cokieName: 'a' } }, 'Unknown option "session.cokieName"; did you mean "cookieName"?'],
  ['a slip in a rule', { cors: [{ path: '/' }, { orign: '*' }] }, 'Unknown option "cors[1].orign"; did you mean "origin"?'],
  ['a rule that is none', { cors: ['*'] }, 'Option "cors[0]" must be an object, not a string'],
  ['a wrong type', { debug: 'yes' }, 'Option "debug" must be a boolean, not a string'],
  ['one of several types', { contentSecurityPolicy: 0 }, 'Option "contentSecurityPolicy" must be an object or false, not a number'],
  ['true where only false switches', { session: true }, 'Option "session" must be an object or false, not a boolean'],
  ['null', { cors: null }, 'Option "cors" must be an array, not null'],
  ['no number', { stackDepth: NaN }, 'Option "stackDepth" must be a number, not NaN'],
  ['a name of every object', { constructor: 1 }, 'Unknown option "constructor"; use one of '],
  ['a slip in the cookie', { session: { ...session, cookie: { htpOnly: false } } }, 'Unknown option "session.cookie.htpOnly"; did you mean "httpOnly"?'],
  ['a duration in words', { session: { ...session, cookie: { maxAge: '1h' } } }, 'Option "session.cookie.maxAge" must be a number, not a string'],
  ['fewer than none', { debug: true, profiler: { maxProfiles: -1 } }, 'Option "profiler.maxProfiles" must be a whole number from 1, not -1'],
  ['no profile at all', { debug: true, profiler: { maxProfiles: 0 } }, 'Option "profiler.maxProfiles" must be a whole number from 1, not 0'],
  ['half a profile', { debug: true, profiler: { maxProfiles: 1.5 } }, 'Option "profiler.maxProfiles" must be a whole number from 1, not 1.5'],
  ['an unknown word', { profiler: 'everything' }, 'Option "profiler" must be "all", "errors", an object or false, not "everything"'],
  [
    'a directive of another type', { contentSecurityPolicy: { enforce: { defaultSrc: 5 } } },
    'Option "contentSecurityPolicy.enforce.defaultSrc" must be an array, a string or null, not a number'
  ],
  ['a name to mask of another type', { mask: [5] }, 'Option "mask[0]" must be a string or a RegExp, not a number'],
  [
    'a voter without a function', { security: { firewalls: [], voters: [{ supports: true, vote: () => 'granted' }] } },
    'Option "security.voters[0].supports" must be a function'
  ],
  [
    'an empty role', { security: { firewalls: [], accessControl: [{ roles: [''] }] } },
    'Option "security.accessControl[0].roles[0]" must be a role, not another string'
  ],
  ['a rule about frames that says nothing', { clickjacking: [{ path: '/' }] }, 'Option "clickjacking[0].frameOptions" is missing'],
  [
    'a source of another type', { contentSecurityPolicy: { reportOnly: { 'img-src': [5] } } },
    'Option "contentSecurityPolicy.reportOnly.img-src[0]" must be a string, not a number'
  ]
]

for (const [name, options, message] of mistakes) {
  t.test(`${name} stops the start`, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    await t.rejects(
      Promise.resolve(app.register(service, { session, ...options })),
      { message: message.endsWith(' ') ? new RegExp(`^${message}`) : message }
    )
  })
}

t.test('an option with the value undefined is not set', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(service, { session, ...{ cors: undefined } } as object)
  t.ok(app.hasDecorator('service'))
})
