import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { unseenSentence } from '../../../src/parts/queries/unseen.js'

const run = promisify(execFile)
const PACKAGE = join(import.meta.dirname, '../../..')
const ERASE = join(PACKAGE, 'test/support/erase-types/register.js')

// A process of its own: other tests observe clients. Its server accepts the connection, and never answers. The wait is long, and
// a request before has loaded what the first one loads: on a busy machine the rest takes seconds, and a driver is named from a fifth of the time.
const script = (line: string): string => `
import net from 'node:net'
import Fastify from 'fastify'
import pg from 'pg'
import { hindsight } from ${JSON.stringify(join(PACKAGE, 'src/hindsight.ts'))}
import { observe } from ${JSON.stringify(join(PACKAGE, 'src/queries.ts'))}
import { preparedDrivers } from ${JSON.stringify(join(PACKAGE, 'src/queries/channel.ts'))}
import { createRequire } from 'node:module'
const { version } = createRequire(import.meta.url)('pg/package.json')
const silent = net.createServer((socket) => socket.on('error', () => {})).listen(0)
const pool = new pg.Pool({ host: '127.0.0.1', port: silent.address().port, user: 'u', database: 'd', connectionTimeoutMillis: 4000 })
const app = Fastify({ pluginTimeout: 60_000 })
await app.register(hindsight, { profiler: { storage: 'memory' } })
${line}
app.get('/', async () => await pool.query('select 1').catch(() => []))
app.get('/quick', async () => 'ok')
const markdown = []
await app.inject('/quick')
for (const url of ['/', '/quick']) {
  const { headers } = await app.inject(url)
  markdown.push((await app.inject('/_profiler/' + headers['x-debug-token'] + '.md')).body)
}
console.log(JSON.stringify(markdown))
process.exit()`

async function markdownOf (line = ''): Promise<string[]> {
  const { stdout } = await run(process.execPath, [`--import=${ERASE}`, '--input-type=module', '-e', script(line)], {
    cwd: PACKAGE, env: { ...process.env, NODE_ENV: 'development' }
  })
  return JSON.parse(/^\[".*"\]$/m.exec(stdout)?.[0] ?? '[]') as string[]
}

t.test('a driver that is loaded and not observed is named where a request waited', async (t) => {
  const [waited = '', quick = ''] = await markdownOf()
  t.match(waited, /pg 8\.\d+\.\d+ is loaded, and its queries are not recorded: /)
  t.match(waited, /start Node\.js with --import fastify-hindsight\/register, or call observe\\?\(pool\\?\)\./)
  t.notMatch(quick, /is loaded/, 'it did not wait')
})

t.test('a driver of which a client is observed is not named', async (t) => {
  const [waited = ''] = await markdownOf('observe(pool)')
  t.notMatch(waited, /is loaded/)
})

t.test('a driver that the preload has prepared and loaded is not named: its clients are observed', async (t) => {
  const [waited = ''] = await markdownOf("preparedDrivers.push('pg ' + version)")
  t.notMatch(waited, /is loaded/)
  const [other = ''] = await markdownOf("preparedDrivers.push('pg 7.0.0')")
  t.match(other, /pg 8.* is loaded/, 'of another version')
})

t.test('a library that publishes its queries in a later release', (t) => {
  t.equal(unseenSentence({ name: 'ioredis', version: '5.4.1', since: '5.11' }), 'ioredis 5.4.1 is loaded, and its queries are not recorded: ' +
    'use 5.11 or later, which publishes them')
  t.end()
})

t.test('the sentence of commands that start the process', (t) => {
  const given = process.argv[1] as string
  t.teardown(() => { process.argv[1] = given })
  for (const file of ['/app/node_modules/.bin/fastify', '/app/node_modules/@nestjs/cli/bin/nest.js']) {
    process.argv[1] = file
    t.equal(unseenSentence({ name: 'mongodb', version: '7.9.0', client: 'client' }), 'mongodb 7.9.0 is loaded, and its queries are not recorded: ' +
      'set NODE_OPTIONS to "--import fastify-hindsight/register", or call observe(client)')
  }
  t.end()
})
