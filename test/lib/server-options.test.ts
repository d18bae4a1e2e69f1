import t from 'tap'
import { SERVER_OPTIONS } from '../../lib/check-options.js'
import { readServerOptions } from '../../app/environment.js'
import { serverOptions } from '../../lib/server-options.js'

t.test('environment variables set the limits of the server', async (t) => {
  t.same(readServerOptions({}), Object.fromEntries(Object.entries(SERVER_OPTIONS).map(([name, { default: preset }]) => [name, preset])))
  t.match(readServerOptions({ HEADERS_TIMEOUT: '0', BODY_LIMIT: '10', MAX_CONNECTIONS: '' }), { headersTimeout: 0, bodyLimit: 10, maxConnections: 10_000 })
})

for (const [variables, message] of [
  [{ HEADERS_TIMEOUT: '20s' }, 'Environment: HEADERS_TIMEOUT must be a whole number from 0, not "20s"'],
  [{ BODY_LIMIT: '0' }, 'Environment: BODY_LIMIT must be a whole number from 1, not "0"'],
  [{ MAX_CONNECTIONS: '-1' }, 'Environment: MAX_CONNECTIONS must be a whole number from 0, not "-1"'],
  [{ REQUEST_TIMEOUT: '1.5' }, 'Environment: REQUEST_TIMEOUT must be a whole number from 0, not "1.5"']
] as const) {
  t.test(`${JSON.stringify(variables)} is an error that names the variable`, async (t) => {
    t.throws(() => readServerOptions(variables), { message })
  })
}

t.test('serverOptions() returns the options of the server', async (t) => {
  t.match(serverOptions(), {
    requestTimeout: 60_000,
    connectionTimeout: 120_000,
    keepAliveTimeout: 72_000,
    bodyLimit: 1_048_576,
    http: { headersTimeout: 20_000, connectionsCheckingInterval: 1_000 }
  })
})

t.test('an unknown server option is an error', async (t) => {
  t.throws(() => serverOptions({ maxConnection: 5 } as object), { message: 'Unknown option "maxConnection"; did you mean "maxConnections"?' })
})
