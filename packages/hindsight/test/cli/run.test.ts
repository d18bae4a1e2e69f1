import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import t, { type Test } from 'tap'
import { COMMANDS, executeCommand } from '../../src/cli/run.js'
import { FORMATS } from '../../src/reading/formats/formats.js'
import { profileMarkdown } from '../../src/reading/profile-markdown.js'
import type { Profile } from '../../src/store/profile.js'
import { openStorage } from '../../src/store/open.js'
import { recordOf } from '../../src/store/summary.js'
import { failure, profile } from '../parts/fixture.js'
import { sample } from '../parts/sample.js'
import { asides, connection } from '../store/support.js'
import { testdir } from '../support/folder.js'

const HOSTILE = 'http://h/\u001b]0;pwned\u0007\u001b[31m\u202etxt\n\r'

interface Outcome {
  code: number
  out: string
  err: string
}

/** Runs a command as the shell would; with `columns` its output is a screen that shows colours. */
async function hindsight (dataDir: string, args: string[], columns?: number): Promise<Outcome> {
  const out = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns, hasColors: () => true })
  const err = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns })
  const texts = [out, err].map(async (stream) => {
    let text = ''
    for await (const chunk of stream.setEncoding('utf8')) text += String(chunk)
    return text
  })
  const code = await executeCommand([...args, '--data-dir', dataDir], out, err)
  out.end()
  err.end()
  return { code, out: await texts[0] ?? '', err: await texts[1] ?? '' }
}

/** A folder with a store that has these profiles. */
async function stored (t: Test, profiles: readonly Profile[]): Promise<string> {
  const dataDir = testdir(t)
  const store = await openStorage({ dataDir })
  await store.put(profiles.map(recordOf))
  await store.close()
  return dataDir
}

t.test('list prints a line for each profile, or JSON', async (t) => {
  const warning = { time: '2026-01-02T03:04:05.678Z', level: 'warn' as const, channel: 'app', message: 'careful', context: {} }
  const dataDir = await stored(
    t, [profile('000001'), failure('000002'), profile('000003', { logs: [warning], url: HOSTILE, method: 'PROPFIND', duration: 1234.5 })]
  )
  const { code, out, err } = await hindsight(dataDir, ['list'])
  t.same([code, err], [0, ''])
  t.equal(out, `▲ 000003  200  01-02 03:04:05Z    1.23 s  PROPFIND /␛]0;pwned␇␛[31m⟨U+202E⟩txt␊␍
  Logs: careful
● 000002  404  01-02 03:04:05Z   1.25 ms  GET /robots.txt
  NotFoundError: No route found
  000001  200  01-02 03:04:05Z   1.25 ms  GET /robots.txt
`)
  const screen = await hindsight(dataDir, ['list', '--status', '404'], 80)
  t.match(screen.out, '\u001b[33m404')
  t.notMatch(screen.out, /000001/)
  t.equal((await hindsight(dataDir, ['list', '--status', '404'], 0)).out, screen.out, 'a screen of unknown width has 80 columns')
  const sorted = JSON.parse((await hindsight(dataDir, ['list', '--url', 'robots', '--sort', 'time', '--json'])).out).profiles
  t.same(sorted.map(({ token }: { token: string }) => token), sorted.map(({ token }: { token: string }) => token).sort())
  const json = JSON.parse((await hindsight(dataDir, ['list', '--json', '--limit', '2'])).out)
  t.match(json, { profiles: [{ token: '000003', warnings: 1 }, { token: '000002', error: true }], next: String })
  const rest = await hindsight(dataDir, ['list', '--limit', '2', '--cursor', json.next, '--json'])
  t.match(JSON.parse(rest.out), { profiles: [{ token: '000001' }], next: null })
  t.match((await hindsight(dataDir, ['list', '--limit', '1'])).out, /More profiles: --cursor \S+/)
  t.notMatch((await hindsight(dataDir, ['list', '--json'])).out, /[\u0007\u001b]/)
  t.equal((await hindsight(dataDir, ['list', '--status', '500'])).out, 'No stored profile matches.\n')
})

t.test('every criterion is a flag', async (t) => {
  const dataDir = await stored(t, [
    failure('000001', {
      status: 500,
      method: 'PUT',
      ip: '10.1.1.1',
      duration: 80,
      url: 'http://h/Shop',
      route: { name: 'shop', pattern: '/', params: {}, methods: [] },
      parent: '0000aa',
      collectors: { queries: { count: 24, findings: [{ kind: 'n+1', text: '' }] } }
    }),
    profile('000002', { time: '2026-02-02T00:00:00.000Z' })
  ])
  for (const [flag, value, expected] of [
    ['--token', '000001', '000001'], ['--ip', '10.1.1.1', '000001'], ['--method', 'put', '000001'], ['--status', '5xx', '000001'], ['--url', 'shop', '000001'],
    ['--route', 'sh*', '000001'], ['--exception', 'notfound', '000001'], ['--slow', '80ms', '000001'], ['--from', '2026-02-01', '000002'],
    ['--until', '2026-02-01', '000001'], ['--error', '1', '000001'], ['--error', '0', '000002'], ['--parent', '0000aa', '000001'],
    ['--queries', '>20', '000001'], ['--n+1', 'yes', '000001']
  ] as const) {
    const { out } = await hindsight(dataDir, ['list', flag, value, '--json'])
    t.same(JSON.parse(out).profiles.map((item: { token: string }) => item.token), [expected], flag)
  }
})

t.test('show prints a profile on one screen', async (t) => {
  const dataDir = await stored(t, [sample('\u001b[31mred')])
  const { out } = await hindsight(dataDir, ['show', '3fa94c'])
  t.equal(out, profileMarkdown(sample('\u001b[31mred')), 'the Markdown of the route')
  for (const part of ['## Exceptions', '## Log', '## Request', '3fa94c', '␛[31mred']) t.match(out, part)
  t.notMatch(out, '\u001b')
  t.equal((await hindsight(dataDir, ['show', 'latest'])).out, out)
  t.equal((await hindsight(dataDir, ['show', 'latest', '--method', sample().method])).out, out)
  t.match(JSON.parse((await hindsight(dataDir, ['show', '3fa94c', '--json'])).out), { version: 1, token: '3fa94c' })
  t.match(JSON.parse((await hindsight(dataDir, ['show', '3fa94c', '--part', 'events', '--json'])).out), [{ stage: String }])
  t.match(JSON.parse((await hindsight(dataDir, ['show', '3fa94c', '--part', 'request', '--json'])).out), { headers: {} })
  t.match((await hindsight(dataDir, ['show', '3fa94c', '--part', 'cpu'])).out, /## CPU profile\n\n```text from: code or input\n {5}self /)
  t.match((await hindsight(dataDir, ['show', '3fa94c', '--part', 'session'])).out, /```json from: code or input\n\{\n "used": true/)
})

/** A profile with two queries, of which one failed. */
function withQueries (token: string): Profile {
  const [statement, source] = [`select ${'a_column, '.repeat(20)}b\n  from orders`, `${process.cwd()}/routes/a.ts:3:7`]
  const common = { system: 'sqlite', start: 0 }
  const failed = {
    ...common, statement: 'select 1', shape: 'select ?', duration: 0.5, rows: null, source: null, error: { message: 'it \u001b[31mbroke' }
  }
  return profile(token, {
    collectors: {
      queries: {
        count: 2,
        duration: 2.5,
        failed: 1,
        findings: [{ kind: 'n+1', text: 'N+1: 2 times', queries: [0] }],
        groups: [
          { ...common, shape: statement, statement, count: 1, duration: 2, sources: [source], kind: 'n+1' },
          { ...common, shape: 'select ?', statement: 'select 1', count: 1, duration: 0.5, sources: [], kind: null }
        ],
        queries: [{ ...common, statement, shape: statement, duration: 2, rows: 3, source }, failed]
      }
    }
  })
}

t.test('queries prints what the Markdown has of them, with an exit code for scripts', async (t) => {
  const dropped = { changes: [{ part: 'response', text: 'response.a was removed', schema: 'response/200/properties' }] }
  const dataDir = await stored(t, [
    withQueries('000001'), profile('000002'), failure('000003'),
    profile('000004', { status: 499 }), profile('000005', { collectors: { wire: dropped } })
  ])
  const { code, out, err } = await hindsight(dataDir, ['queries', '000001'], 80)
  t.same([code, err], [2, ''])
  t.match(out.split('\n').map((line) => stripVTControlCharacters(line)), [
    '  `select ?` failed: it ␛[31mbroke (an unknown line) (and 1 more finding).',
    /^● 000001 {2}200 /, '  2 queries, 2.5 ms, 1 failed.', '  - `select ?` failed: it ␛[31mbroke (an unknown line)', '  - N+1: 2 times.',
    /^ {2}1 × select a_column, (?:a_column, ?)+$/, /^ {2}a_column, (?:a_column, ?)+$/, /^ {2}a_column, .*… \(20 more$/,
    '  characters) (3 rows, 2 ms, n+1, routes/a.ts:3)', '  1 × select 1 (500 µs)', ''
  ])
  const { out: markdown } = await hindsight(dataDir, ['show', '000001', '--part', 'queries'])
  for (const line of (await hindsight(dataDir, ['queries', '000001'])).out.split('\n').slice(2)) t.ok(markdown.includes(`\n${line.slice(2)}\n`), line)
  const json = await hindsight(dataDir, ['queries', '000001', '--json'])
  t.match(JSON.parse(json.out), { token: '000001', count: 2, duration: 2.5, failed: 1, findings: [{ kind: 'n+1' }], queries: [{ rows: 3 }, { error: {} }] })
  t.equal(json.code, 2)
  t.match(await hindsight(dataDir, ['queries', '000002']), { code: 0, out: /^ {2}000002 .*\nNo query was recorded\.\n$/ })
  t.match(await hindsight(dataDir, ['queries', '000003']), { out: /^ {2}NotFoundError: .*\n {2}000003 .*\nNo query was recorded\.\n$/ })
  t.match((await hindsight(dataDir, ['queries', '000004'])).out, /^ {2}The client closed the connection /)
  t.match((await hindsight(dataDir, ['queries', '000005'])).out, /^ {2}The response schema dropped response\.a/)
  t.same(JSON.parse((await hindsight(dataDir, ['queries', '000002', '--json'])).out), { token: '000002', count: 0, findings: [], queries: [] })
})

t.test('list --issues finds profiles with an error or a warning', async (t) => {
  const warned = profile('000002', { logs: [{ time: '2026-01-02T03:04:05.678Z', level: 'warn', channel: 'app', message: 'm', context: {} }] })
  const refused = profile('000005', { status: 404, url: 'http://h/nowhere' })
  const icon = failure('000006', { url: 'http://h/favicon.ico' })
  const dataDir = await stored(t, [profile('000001'), warned, failure('000003'), withQueries('000004'), refused, icon])
  const { code, out } = await hindsight(dataDir, ['list', '--issues', '--json'])
  t.equal(code, 2)
  t.same(JSON.parse(out).profiles.map((one: { token: string }) => one.token), ['000005', '000004', '000003', '000002'])
  const [found] = (withQueries('000007').collectors.queries as { findings: object[] }).findings
  const queries = { count: 1, failed: 0, queries: [], findings: [{ ...found, kind: 'slow', text: 'A query took 200 ms' }] }
  const slow = await stored(t, [profile('000007', { collectors: { queries } })])
  t.match(await hindsight(slow, ['list', '--issues', '--json']), { code: 2, out: '"token": "000007"' }, 'a slow query')
  t.match((await hindsight(slow, ['list', '--issues'])).out, / GET \/robots\.txt\n {2}Queries: A query took 200 ms\n$/)
  t.equal((await hindsight(slow, ['queries', '000007'])).code, 2)
  t.match(await hindsight(dataDir, ['list', '--issues', '--token', '000001']), { code: 0, out: 'No stored profile matches.\n' })
  t.equal((await hindsight(dataDir, ['list'])).code, 0)
})

t.test('list and tail name what the parts have found, on lines of the terminal', async (t) => {
  const long = profile('000002', { url: `http://127.0.0.1:3000/orders?${'filter[city]=Amsterdam&'.repeat(20)}page=7` })
  const all = [withQueries('000001'), long, failure('000003', { exceptions: [], status: 500 })]
  const dataDir = await stored(t, all)
  const found = /^▲ 000001 {2}200 .* GET \/robots\.txt\n {2}Queries: it ␛\[31mbroke\n/m
  t.match((await hindsight(dataDir, ['list'])).out, found)
  t.match(JSON.parse((await hindsight(dataDir, ['list', '--json'])).out).profiles[2], { values: { 'n+1': 'yes' } })
  let text = ''
  // Nothing else ends the command.
  function write (line: string): boolean {
    text += stripVTControlCharacters(line)
    if (found.test(text) && text.includes('page=7')) throw new Error('closed')
    return true
  }
  const out = Object.assign(new PassThrough(), { isTTY: true, columns: 80, hasColors: () => true, write })
  const state = { ended: false }
  const ended = executeCommand(['tail', '--data-dir', dataDir], out, new PassThrough()).finally(() => { state.ended = true })
  const store = await openStorage({ dataDir })
  while (!state.ended) {
    await store.put(all.map(recordOf))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await store.close()
  await ended
  t.same(text.split('\n').filter((line) => line.length > 80), [])
})

t.test('the part headers has the code that set, changed or removed each header', async (t) => {
  const change = { pass: 'main', outcome: 'ran', start: 0, duration: 0, stage: 'kernel.response', listener: 'response' } as const
  const changes = [
    { name: 'content-type', from: null, to: 'text/plain', after: 0, by: 'handler', source: '/app/routes/a.ts:3' },
    { name: 'x-gone', from: HOSTILE, to: null, after: 1, by: 'error handler' },
    { name: 'x-other', from: null, to: 'b', after: 1, by: 'a\u001b[31m' }
  ]
  const dataDir = await stored(t, [profile('000001', {
    events: [{ ...change, changes: { headers: [{ name: 'content-type', from: 'text/plain', to: 'text/html' }] } }],
    collectors: { headers: { changes } }
  })])
  const { code, out, err } = await hindsight(dataDir, ['show', '000001', '--part', 'headers'])
  t.same([code, err], [0, ''])
  t.equal(out.slice(out.indexOf('##')), `## What set the response headers

\`\`\`text from: code or input
content-type: set by handler (/app/routes/a.ts:3); changed by response, was text/plain
x-gone: removed by error handler, was http://h/␛]0;pwned␇␛[31m⟨U+202E⟩txt␊␍
x-other: set by a␛[31m
\`\`\`
`)
  t.match((await hindsight(dataDir, ['show', '000001'])).out, '\nx-other: set by a␛[31m\n')
})

t.test('a profile is shown without the parts that have another format', async (t) => {
  const frame = { file: '/a.js', line: 1, column: 1, function: 'f', own: true, excerpt: {} }
  const exceptions = [
    { name: 'E', message: 'm', stack: '', frames: [frame, { ...frame, excerpt: { start: 1, lines: 'x' } }] }, { name: 'F', message: '', stack: '' }
  ]
  const events = [{}, { headers: {} }, { status: null }].map(
    (changes) => ({ stage: 'kernel.request', listener: 'l', pass: 'main', outcome: 'ran', start: 0, duration: 0, changes })
  )
  const dataDir = await stored(t, [{ ...profile('000001'), exceptions, events } as unknown as Profile])
  const { code, out, err } = await hindsight(dataDir, ['show', '000001'])
  t.same([code, err], [0, ''])
  t.match(out, /^# 200 OK\n[^]*## /)
  t.notMatch(out, '## Exceptions')
})

t.test('purge removes what matches, but no pinned profiles', async (t) => {
  const dataDir = await stored(t, [profile('000001', { status: 404 }), profile('000002'), profile('000003')])
  const store = await openStorage({ dataDir })
  await store.pin('000003', true)
  await store.close()
  t.match(await hindsight(dataDir, ['purge']), { code: 1, err: 'purge needs a criterion, or --all for everything.' })
  t.equal((await hindsight(dataDir, ['purge', '--status', '404'])).out, '1 profile was removed.\n')
  t.same(JSON.parse((await hindsight(dataDir, ['purge', '--all', '--json'])).out), { purged: 1 })
  t.same(JSON.parse((await hindsight(dataDir, ['list', '--json'])).out).profiles.map((one: { token: string }) => one.token), ['000003'])
})

t.test('errors name the invalid argument', async (t) => {
  const dataDir = await stored(t, [profile('000001')])
  const missing = join(dataDir, 'nowhere')
  for (const [args, message] of [
    [['lst'], 'There is no command, file, script or program "lst". Did you mean "list"?\n'],
    [['000001'], 'There is no command, file, script or program "000001". "fastify-hindsight --help" lists the commands.\n'],
    [['shwo'], /^fastify-hindsight: There is no command, file, script or program "[^"]+"\. Did you mean "show"\?\n$/],
    [['tial'], /^fastify-hindsight: There is no command, file, script or program "[^"]+"\. Did you mean "tail"\?\n$/],
    [['READ.md'], /^fastify-hindsight: There is no command, file, script or program "[^"]+"\. Did you mean "README\.md"\?\n$/],
    [['tsconfig'], /^fastify-hindsight: There is no command, file, script or program "[^"]+"\. Did you mean "tsconfig\.json"\?\n$/],
    [['app/confg.ts'], /^fastify-hindsight: There is no command, file, script or program "[^"]+"\. Did you mean "app\/config\.ts"\?\n$/],
    [['strat'], /^fastify-hindsight: There is no command, file, script or program "[^"]+"\. Did you mean "start"\?\n$/],
    [['lib'], 'The folder "lib" has no main file: name the file that starts the application.\n'],
    [['--watch', 'start'], '--watch restarts a file. "start" is none: use its own option, or name the file.\n'],
    [['--open', '--watch'], 'Which file? Usage: fastify-hindsight [--open] [--watch] <file> [arguments]\n'],
    [['--wach', 'app.js'], 'Unknown option "--wach". Did you mean "--watch"?\n'],
    [
      ['--inspect', 'app.js'],
      'Unknown option "--inspect". Options of the application come after its file, and those of Node.js are in NODE_OPTIONS.\n'
    ],
    [['--versoin'], 'Unknown option "--versoin". Did you mean "--version"?\n'],
    [['--hepl'], 'Unknown option "--hepl". Did you mean "--help"?\n'],
    [['list', '--foo'], 'Unknown option "--foo".\n'],
    [['list', '-x'], 'Unknown option "-x".\n'],
    [['list', '--jsno'], 'Unknown option "--jsno". Did you mean "--json"?\n'],
    [['show', 'latest', '--hlep'], 'Unknown option "--hlep". Did you mean "--help"?\n'],
    [['list', 'word'], 'Usage: fastify-hindsight list [options]; arguments given: 1.'],
    [['list', '--sort', 'url'], 'Invalid "sort": "url" is none of -time, time, -duration, duration, -status, status.'],
    [['list', '--status', 'bad'], 'Invalid "status": "bad" is neither a status such as 404 nor a class such as 4xx.'],
    [['list', '--slow', 'x'], 'Invalid "slow": "x" is not a duration such as >200ms or >1.5s.'],
    [['show'], 'Usage: fastify-hindsight show <token | latest> [options]; arguments given: 0.'],
    [['show', 'ABC'], '"ABC" is neither a token of six hexadecimal digits nor "latest".'],
    [['show', '00000f'], 'Token "00000f" was not found.'],
    [['show', 'latest', '--status', '500'], 'No stored profile matches.'],
    [['show', '000001', '--part', 'nope'], 'Part "nope" was not found; this profile has: overview, request, exceptions, logs, events.'],
    [['show', '000001', '--part', 'nope', '--json'], 'Part "nope" was not found; this profile has: exceptions, logs, events.'],
    [['list', '--cursor', 'x'], 'Invalid "cursor": "x" is not one of a previous page.'],
    [
      ['list', '--data-dir', missing],
      `There is no store at ${missing}/profiles.db: run the command in the folder where the application was started, or set --data-dir (DATA_DIR).`
    ],
    [['list', '--storage', 'memory'], '--storage (STORAGE_URL): the memory of another process cannot be read.'],
    [
      ['list', '--storage', 'ftp://u:secret@h'],
      'profiler.storage (STORAGE_URL): it is neither sqlite nor memory, nor an address such as postgres://user:password@'
    ],
    [
      ['list', '--storage', 'postgress//u:secret@h/x'],
      'profiler.storage (STORAGE_URL): it is neither sqlite nor memory, nor an address such as postgres://user:password@'
    ]
  ] as const) {
    const isGiven = (args as readonly string[]).includes('--data-dir') || args[0].startsWith('--')
    const flags = isGiven ? [] : ['--data-dir', dataDir]
    const err = new PassThrough()
    t.equal(await executeCommand([...args, ...flags], new PassThrough().resume(), err), 1, args.join(' '))
    const printed = String(err.read())
    t.match(printed, typeof message === 'string' ? `fastify-hindsight: ${message}` : message)
    t.notMatch(printed, /secret|ftp/)
  }
})

t.test('no command changes a store that another version or program wrote, or that is damaged', async (t) => {
  const dataDir = await stored(t, [profile('000001'), profile('000002')])
  const path = join(dataDir, 'profiles.db')
  const older = connection(t, path)
  older.exec('pragma user_version = 3; pragma wal_checkpoint(truncate)')
  older.close()
  const reasons = {
    'its schema has version 3, and this version of fastify-hindsight supports 2': readFileSync(path), 'file is not a database': Buffer.alloc(20_000, 'x')
  }
  const commands = [
    ['list'], ['list', '--json'], ['tail'], ['show', 'latest'], ['show', '000001'], ['queries', '000001'], ['compare', '000001'],
    ['compare', '000001', '000002'], ['to', 'curl', '000001'], ['purge', '--all']
  ]
  for (const [reason, bytes] of Object.entries(reasons)) {
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
    writeFileSync(path, bytes)
    for (const args of commands) {
      const { code, out, err } = await hindsight(dataDir, args)
      t.same([code, out], [1, ''], args.join(' '))
      t.match(err, `fastify-hindsight: The store "${path}" cannot be used: ${reason}`)
    }
    t.ok(readFileSync(path).equals(bytes))
    t.same(asides(path), [])
  }
})

t.test('the latest profile is not the 404 of an icon, which has no mark in the list', async (t) => {
  const dataDir = await stored(t, [failure('000001'), failure('000002', { url: 'http://h/sw.js' }), failure('000003', { url: 'http://h/favicon.ico' })])
  t.match(JSON.parse((await hindsight(dataDir, ['show', 'latest', '--error', '1', '--json'])).out), { token: '000001' })
  t.match(JSON.parse((await hindsight(dataDir, ['show', 'latest', '--json'])).out), { token: '000001' })
  t.equal((await hindsight(dataDir, ['list'])).out.replace(/01-02 .* ms/g, '…'), `  000003  404  …  GET /favicon.ico
  000002  404  …  GET /sw.js
● 000001  404  …  GET /robots.txt
  NotFoundError: No route found
`)
})

t.test('without an option, the store is that of debug mode, or that of production', async (t) => {
  const [folder, before] = [testdir(t), process.cwd()]
  process.chdir(folder)
  t.teardown(() => { process.chdir(before) })
  const listed = async (NODE_ENV: string): Promise<string> => {
    t.intercept(process, 'env', { value: { ...process.env, NODE_ENV } })
    const [out, err] = [new PassThrough(), new PassThrough()]
    await executeCommand(['list'], out, err)
    return String(out.read() ?? err.read()).replace(/^ *([0-9a-f]{6}) .*/, '$1')
  }
  const none = (path: string): string => `fastify-hindsight: There is no store at ${path}/profiles.db: run the command in the folder where the ` +
    'application was started, or set --data-dir (DATA_DIR).\n'
  t.same([await listed('development'), await listed('production')], [none('node_modules/.cache/hindsight'), none('.hindsight')])
  for (const [dataDir, token] of [['.hindsight', '000002'], ['node_modules/.cache/hindsight', '000001']] as const) {
    const store = await openStorage({ dataDir })
    await store.put([recordOf(profile(token))])
    await store.close()
    t.same([await listed('development'), await listed('production')], [`${token}\n`, '000002\n'])
  }
})

t.test('the version is that of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../../package.json'), 'utf8'))
  for (const name of ['--version', '-v', 'version']) {
    const out = new PassThrough()
    t.equal(await executeCommand([name], out, new PassThrough()), 0)
    t.equal(String(out.read()), `${version}\n`)
  }
})

t.test('help is printed for each command', async (t) => {
  const dataDir = testdir(t)
  t.match(
    (await hindsight(dataDir, ['list', '--help'])).out,
    /^Usage: fastify-hindsight list \[options\]\n\nList the profiles that match all criteria, newest first\.\n[^]*--data-dir {4}/
  )
  t.match((await hindsight(dataDir, ['show', '--help'])).out, /^Usage: fastify-hindsight show <token \| latest> \[options\]\n/)
  const out = new PassThrough()
  t.equal(await executeCommand([], out, new PassThrough()), 0)
  t.match(String(out.read()), /^ {2}show {8}show a profile/m)
})

t.test('no line of a table is longer than the terminal', async (t) => {
  const url = `http://127.0.0.1:3000/orders/17?${'filter[city]=Amsterdam&'.repeat(20)}page=7`
  const dataDir = await stored(t, [
    { ...sample(), url }, profile('000002', { url: `${url}1${HOSTILE}` }), failure('000003', { url: '/short' }), withQueries('000004')
  ])
  for (const columns of [40, 80, 120]) {
    for (const args of [['list'], ['queries', '000004'], ['compare', '3fa94c', '000004']]) {
      const { out } = await hindsight(dataDir, args, columns)
      const tooLong = out.split('\n').map((line) => stripVTControlCharacters(line)).filter((line) => [...line].length > Math.max(columns, 50))
      t.same(tooLong, [], `${args.join(' ')} at ${columns}`)
    }
  }
  t.match(COMMANDS.to?.summary, FORMATS.join(' or '))
  for (const args of [['help'], ...Object.keys(COMMANDS).map((name) => [name, '--help'])]) {
    const { out } = await hindsight(dataDir, args)
    t.same(out.split('\n').filter((line) => line.length > 80), [], args.join(' '))
  }
  const shown = (await hindsight(dataDir, ['list'], 120)).out
  t.match(shown, /GET \/ord[^ \n]*…[^ \n]*page=7/, 'a URL is shortened in the middle')
  const { out: listed } = await hindsight(dataDir, ['list'])
  t.match(listed, url.slice('http://127.0.0.1:3000'.length), 'a file has the whole URL')
})

t.test('compare prints two profiles side by side', async (t) => {
  const dataDir = await stored(t, [
    profile('000001', { time: '2026-01-01T00:00:00.000Z', url: `${HOSTILE}x` }), failure('000002', { url: `${HOSTILE}x`, time: '2026-01-02T00:00:00.000Z' })
  ])
  const { out, code } = await hindsight(dataDir, ['compare', '000001', '000002'])
  t.equal(code, 2, 'there are differences')
  t.equal((await hindsight(dataDir, ['compare', '000001', '000001'])).code, 0)
  t.notMatch(out, /[\u0007\u001b\r]/)
  t.match(
    out,
    /^A 000001 {2}200 .* GET .*\nB 000002 {2}404 .* GET .*\n {2}NotFoundError: .*\n\n3 differences\.\n\n {2}Status and route: status\n {4}- 200\n {4}\+ 404\n/
  )
  t.match(
    JSON.parse((await hindsight(dataDir, ['compare', '000001', '000002', '--json'])).out), { a: { token: '000001' }, b: { token: '000002' }, differences: 3 }
  )
  t.match((await hindsight(dataDir, ['compare', '000002', '000002'])).out, 'No differences')
  for (const [args, message] of [
    [['compare', '000001'], /No success of the same route is stored before "000001"\./],
    [['compare', '000001', '000002', '000002'], /arguments given: 3/],
    [['compare', '000001', 'x'], /"x" is neither a token/],
    [['compare', '000001', '00000f'], /Token "00000f" was not found/]
  ] as const) {
    const { code, err } = await hindsight(dataDir, [...args])
    t.equal(code, 1, args.join(' '))
    t.match(err, message, args.join(' '))
  }
})

t.test('compare prints a failure beside the last success of its route', async (t) => {
  const route = { name: 'orders', pattern: '/', params: {}, methods: ['GET'] }
  const request = (count: unknown): Profile['collectors'] => ({ request: { headers: {}, body: { count } } })
  const notified = [{ stage: 'kernel.request' as const, listener: 'router', pass: 'main' as const, outcome: 'ran' as const, start: 0, duration: 0 }]
  const dataDir = await stored(t, [
    profile('000001', { route, time: '2026-01-01T00:00:00.000Z', collectors: request(1) }),
    failure('000002', { route, time: '2026-01-02T00:00:00.000Z', collectors: request('\u202e\u001b1'), events: notified }),
    profile('000003', { time: '2026-01-03T00:00:00.000Z' })
  ])
  for (const args of [['000002'], ['latest', '--error', '1']]) {
    const { code, out } = await hindsight(dataDir, ['compare', ...args])
    t.equal(code, 2)
    t.match(out, /^A 000001 [^]*\nB 000002 [^]*\n {2}Body of the request: count\n {4}- 1\n {4}\+ ⟨U\+202E⟩␛1\n/)
    t.match(out, /\n {2}Headers and hooks: kernel\.request router\n {4}\+ ran\n/)
  }
  t.match(JSON.parse((await hindsight(dataDir, ['compare', '000002', '--json'])).out), { a: { token: '000001' }, b: { token: '000002' } })
  t.match(await hindsight(dataDir, ['compare', 'latest', '000002']), { code: 2, out: /^A 000003/ })
  t.match(await hindsight(dataDir, ['compare', 'latest', '000003', '--error', '1']), { code: 2, out: /^A 000002/ })
  const { out: markdown } = await hindsight(dataDir, ['show', '000002'], 80)
  t.match(markdown, '## Differences from the last success\n\n```text from: code or input\n')
  t.match(markdown, /\nrequest body count: 1 → "[^]*\n\(from: code or input\) Compared with profile `000001`, 200, /)
  t.notMatch(markdown, 'Notified event')
  t.notMatch((await hindsight(dataDir, ['show', '000001'])).out, 'last success')
})

t.test('JSON escapes characters that reorder text', async (t) => {
  const text = 'a\u202eb\u2066c\u200bd'
  const dataDir = await stored(t, [profile('000001', { url: `http://h/${text}`, collectors: { request: { body: text } } })])
  for (const args of [
    ['show', '000001', '--json'], ['show', '000001', '--part', 'request', '--json'], ['list', '--json'], ['compare', '000001', '000001', '--json']
  ]) {
    const { out } = await hindsight(dataDir, args)
    t.notMatch(out, /[\u200b\u202e\u2066]/, args.join(' '))
    t.match(out, 'a\\u202eb\\u2066c\\u200bd')
  }
})

t.test('the request of a profile is printed in other formats', async (t) => {
  const dataDir = await stored(t, [sample('\u001b[31mred'), { ...profile('000001'), method: 'not one' }])
  for (const [args, content] of [
    [['curl', '3fa94c'], /^# Made from the profile 3fa94c [^]*\ncurl --silent/],
    [['test', '3fa94c'], /\nimport \{ test \} from 'node:test'\n[^]*\nimport application from '\.\/app\.js'\n/]
  ] as const) {
    const { code, out, err } = await hindsight(dataDir, ['to', ...args])
    t.same([code, err], [0, ''], args.join(' '))
    t.match(out, content, args.join(' '))
    t.notMatch(out, /[\u0007\u001b\r]/, args.join(' '))
  }
  t.match((await hindsight(dataDir, ['to', 'curl', 'latest'])).code, 1, 'the newest, whose method cannot be sent')
  const { out: expected } = await hindsight(dataDir, ['to', 'curl', '3fa94c'])
  const { file, text } = JSON.parse((await hindsight(dataDir, ['to', 'curl', '3fa94c', '--json'])).out) as Record<string, string>
  t.same([file, text], ['hindsight-3fa94c.sh', expected])
  const path = join(dataDir, 'request.sh')
  t.match(await hindsight(dataDir, ['to', 'curl', 'ffffff', '--file', path]), { code: 1, out: '' })
  t.notOk(existsSync(path), 'a command that fails writes no file')
  t.same(await hindsight(dataDir, ['to', 'curl', '3fa94c', '--file', path]), { code: 0, out: '', err: '' })
  t.equal(readFileSync(path, 'utf8'), expected)
  t.match(await hindsight(dataDir, ['to', 'curl', 'latest', '--error', '1']), { code: 0, out: expected })
  for (const [args, message] of [
    [['python', '3fa94c'], 'A profile is not available as "python"; the formats are: curl, test.'],
    [['curl', 'x'], '"x" is neither a token of six hexadecimal digits nor "latest".'],
    [['curl', '00000f'], 'Token "00000f" was not found.'],
    [['curl', '000001'], 'Its method cannot be sent.']
  ] as const) t.match(await hindsight(dataDir, ['to', ...args]), { code: 1, err: message }, args.join(' '))
})
