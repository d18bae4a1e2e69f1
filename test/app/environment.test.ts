import { mkdtempSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { readEnvironment, sessionSecret } from '../../app/environment.js'

const SESSION_SECRET = 'a secret of thirty-two characters or more'
const dir = mkdtempSync(join(tmpdir(), 'hindsight-'))

t.test('without variables the defaults apply', async t => {
  const { host, port, logLevel, options } = readEnvironment({ DATA_DIR: dir })
  t.same([host, port, logLevel], ['127.0.0.1', 3000, 'info'])
  t.match(options, { debug: true, trustedProxies: [], trustedHosts: [], debugClients: [], debugHosts: [] })
  t.match((options.session as { secret: string }).secret, /^[0-9a-f]{64}$/)
})

t.test('every variable sets its option', async t => {
  const environment = readEnvironment({
    HOST: '0.0.0.0',
    PORT: '8080',
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    SESSION_SECRET,
    TRUSTED_PROXIES: '10.0.0.0/8, loopback',
    TRUSTED_HOSTS: 'example.com,*.example.com',
    DEBUG_CLIENTS: '203.0.113.9',
    DEBUG_HOSTS: ' a.example ,, ',
    EDITOR_URL: 'vscode',
    EDITOR_PATHS: '/app = /home/me, /lib=/home/lib'
  })
  t.match(environment, {
    host: '0.0.0.0',
    port: 8080,
    logLevel: 'warn',
    options: {
      debug: false,
      session: { secret: SESSION_SECRET },
      trustedProxies: ['10.0.0.0/8', 'loopback'],
      trustedHosts: ['example.com', '*.example.com'],
      debugClients: ['203.0.113.9'],
      debugHosts: ['a.example'],
      editor: 'vscode',
      editorPaths: { '/app': '/home/me', '/lib': '/home/lib' }
    }
  })
})

t.test('an empty variable is not set', async t => {
  const environment = readEnvironment({ HOST: '', PORT: '', NODE_ENV: '', LOG_LEVEL: '', SESSION_SECRET, TRUSTED_PROXIES: '' })
  t.match(environment, { host: '127.0.0.1', port: 3000, logLevel: 'info', options: { trustedProxies: [] } })
})

t.test('debug is off in production only', async t => {
  for (const [NODE_ENV, debug] of [['production', false], ['development', true], ['test', true], ['staging', true]] as const) {
    t.equal(readEnvironment({ NODE_ENV, SESSION_SECRET }).options.debug, debug, NODE_ENV)
  }
})

t.test('an invalid value is an error that names the variable', async t => {
  for (const [variables, message] of [
    [{ PORT: 'http' }, 'Environment: PORT must be a whole number from 0 to 65535, not "http"'],
    [{ PORT: '-1' }, 'Environment: PORT must be a whole number from 0 to 65535, not "-1"'],
    [{ PORT: '65536' }, 'Environment: PORT must be a whole number from 0 to 65535, not "65536"'],
    [{ PORT: '80.5' }, 'Environment: PORT must be a whole number from 0 to 65535, not "80.5"'],
    [{ LOG_LEVEL: 'loud' }, 'Environment: LOG_LEVEL must be "trace", "debug", "info", "warn", "error", "fatal" or "silent", not "loud"'],
    [{ LOG_LEVEL: 'INFO' }, 'Environment: LOG_LEVEL must be "trace", "debug", "info", "warn", "error", "fatal" or "silent", not "INFO"'],
    [{ PROFILER: 'some' }, 'Environment: PROFILER must be "all", "errors" or "off", not "some"'],
    [{ CLOSE_DELAY: '-5' }, 'Environment: CLOSE_DELAY must be a whole number from 0 to 600000, not "-5"'],
    [
      { DEBUG_HOSTS: 'ok.example, http://x' },
      'Environment: each item of DEBUG_HOSTS must be a host name without scheme, port and wildcard, such as "shop.example", or "*" for any host, not "http://x"'
    ],
    [{ TRUSTED_HOSTS: 'x:3000' }, 'Environment: each item of TRUSTED_HOSTS must be a host name without scheme and port, such as "shop.example" or ' +
      '"*.shop.example", or a RegExp, not "x:3000"'],
    [{ SESSION_SECRET: 'short' }, 'SESSION_SECRET is too short: 5 characters, at least 32 are needed'],
    [{ NODE_ENV: 'production', SESSION_SECRET: '' }, 'SESSION_SECRET is not set: production needs one of at least 32 characters']
  ] as const) {
    const read = () => readEnvironment({ SESSION_SECRET, ...variables })
    t.throws(read, { message }, JSON.stringify(variables))
  }
})

t.test('every level of the logger is valid', async t => {
  for (const LOG_LEVEL of ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']) {
    t.equal(readEnvironment({ LOG_LEVEL, SESSION_SECRET }).logLevel, LOG_LEVEL)
  }
})

const GIVEN = 'a secret of thirty-two characters or more'
const folder = () => mkdtempSync(join(tmpdir(), 'hindsight-'))

t.test('a configured secret is used unchanged', async t => {
  for (const production of [true, false]) t.equal(sessionSecret(GIVEN, production, '/nowhere'), GIVEN)
  t.equal(sessionSecret('x'.repeat(32), true, '/nowhere').length, 32)
  for (const production of [true, false]) {
    t.throws(() => sessionSecret('x'.repeat(31), production, '/nowhere'), { message: 'SESSION_SECRET is too short: 31 characters, at least 32 are needed' })
  }
})

t.test('production generates no secret', async t => {
  const dir = folder()
  t.throws(() => sessionSecret('', true, dir), { message: 'SESSION_SECRET is not set: production needs one of at least 32 characters' })
  t.throws(() => statSync(join(dir, 'session-secret')), { code: 'ENOENT' })
})

t.test('development generates a secret, and stores it in a file that only its owner can read', async t => {
  const dir = join(folder(), 'deep', 'er')
  const made = sessionSecret('', false, dir)
  t.match(made, /^[0-9a-f]{64}$/)
  t.equal(sessionSecret('', false, dir), made)
  t.equal(statSync(join(dir, 'session-secret')).mode & 0o777, 0o600)
  t.not(sessionSecret('', false, folder()), made)
})

t.test('a truncated secret is generated again', async t => {
  const dir = folder()
  writeFileSync(join(dir, 'session-secret'), 'abc')
  const made = sessionSecret('', false, dir)
  t.match(made, /^[0-9a-f]{64}$/)
  t.equal(readFileSync(join(dir, 'session-secret'), 'utf8').trim(), made)
})

t.test('when the secret cannot be stored, the error names DATA_DIR and the reason', async t => {
  const dir = folder()
  writeFileSync(join(dir, 'file'), '')
  t.throws(
    () => sessionSecret('', false, join(dir, 'file')),
    { message: /^DATA_DIR: a development session secret cannot be kept in .*\/file\/session-secret \(.+\); set SESSION_SECRET or another DATA_DIR$/ }
  )
  mkdirSync(join(dir, 'session-secret'))
  t.throws(() => sessionSecret('', false, dir), { message: /^DATA_DIR: .*EISDIR/ })
})
