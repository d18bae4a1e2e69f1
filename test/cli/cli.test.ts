import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import t, { type Test } from 'tap'
import { COMMANDS, execute } from '../../cli/run.js'
import { withListenerLines, type Profile } from '../../lib/profiler/profile.js'
import { openStorage } from '../../lib/profiler/storage/open.js'
import { recordOf } from '../../lib/profiler/summary.js'
import { failure, profile, tokens } from '../lib/profiler/fixture.js'
import { sample } from '../lib/profiler/sample.js'
import { testdir } from '../support/folder.js'

const HOSTILE = 'http://h/\u001b]0;pwned\u0007\u001b[31m\u202etxt\n\r'

delete process.env.COLUMNS

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
  const code = await execute([...args, '--data-dir', dataDir], out, err)
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

t.test('list prints a table, or JSON', async (t) => {
  const warning = { time: '2026-01-02T03:04:05.678Z', level: 'warn' as const, channel: 'app', message: 'careful', context: {} }
  const dataDir = await stored(t, [profile('000001'), failure('000002'), profile('000003', { logs: [warning], url: HOSTILE, method: 'PROPFIND', duration: 1234.5 })])
  const { code, out, err } = await hindsight(dataDir, ['list'])
  t.same([code, err], [0, ''])
  t.equal(out, `  token   status  method     duration  time                     url
▲ 000003  200     PROPFI…    1,235 ms  2026-01-02 03:04:05.678  http://h/␛]0;pwned␇␛[31m⟨U+202E⟩txt␊␍
          1 warning logged
● 000002  404     GET         1.25 ms  2026-01-02 03:04:05.678  http://127.0.0.1:3000/robots.txt
          NotFoundError: No route found for "GET http://127.0.0.1:3000/robots.txt"
  000001  200     GET         1.25 ms  2026-01-02 03:04:05.678  http://127.0.0.1:3000/robots.txt
`)
  const screen = await hindsight(dataDir, ['list', '--status', '404'], 80)
  t.match(screen.out, '\u001b[33m404')
  t.notMatch(screen.out, /000001/)
  t.match(screen.out, /03:04:05 {2}.*\/robots\.txt/, 'without the origin')
  t.equal((await hindsight(dataDir, ['list', '--status', '404'], 0)).out, screen.out, 'a screen of unknown width has 80 columns')
  t.equal((await hindsight(dataDir, ['list', 'status:404'], 80)).out, screen.out, 'criteria as one text')
  const sorted = JSON.parse((await hindsight(dataDir, ['list', 'robots', '--sort', 'time', '--json'])).out).profiles
  t.same(sorted.map(({ token }: { token: string }) => token), sorted.map(({ token }: { token: string }) => token).sort())
  const json = JSON.parse((await hindsight(dataDir, ['list', '--json', '--limit', '2'])).out)
  t.match(json, { profiles: [{ token: '000003', warnings: 1 }, { token: '000002', error: true }], next: String })
  const rest = await hindsight(dataDir, ['list', '--limit', '2', '--cursor', json.next, '--json'])
  t.match(JSON.parse(rest.out), { profiles: [{ token: '000001' }], next: null })
  t.match((await hindsight(dataDir, ['search', '--limit', '1'])).out, /More profiles: --cursor \S+/)
  t.notMatch((await hindsight(dataDir, ['list', '--json'])).out, /[\u0007\u001b]/)
})

t.test('every criterion is a flag', async (t) => {
  const dataDir = await stored(t, [
    failure('000001', { status: 500, method: 'PUT', ip: '10.1.1.1', duration: 80, url: 'http://h/Shop', route: { name: 'shop', pattern: '/', params: {}, methods: [] }, parent: '0000aa' }),
    profile('000002', { time: '2026-02-02T00:00:00.000Z' })
  ])
  for (const [flag, value, expected] of [
    ['--token', '000001', '000001'], ['--ip', '10.0.0.0/8', '000001'], ['--method', 'put', '000001'], ['--status', '5xx', '000001'], ['--url', 'shop', '000001'],
    ['--route', 'sh*', '000001'], ['--exception', 'notfound', '000001'], ['--min-duration', '80', '000001'], ['--from', '2026-02-01', '000002'],
    ['--until', '2026-02-01', '000001'], ['--error', '1', '000001'], ['--error', '0', '000002'], ['--parent', '0000aa', '000001']
  ] as const) {
    const { out } = await hindsight(dataDir, ['search', flag, value, '--json'])
    t.same(JSON.parse(out).profiles.map((item: { token: string }) => item.token), [expected], flag)
  }
})

t.test('show prints a profile on one screen', async (t) => {
  const dataDir = await stored(t, [sample('\u001b[31mred')])
  const { out } = await hindsight(dataDir, ['show', '3fa94c'])
  for (const part of ['## Exceptions', '## Last log lines', '## Request', '3fa94c', '␛[31mred']) t.match(out, part)
  t.notMatch(out, '\u001b')
  t.equal((await hindsight(dataDir, ['show', 'latest'])).out, out)
  t.equal((await hindsight(dataDir, ['show', 'latest', '--method', sample().method])).out, out)
  t.match(JSON.parse((await hindsight(dataDir, ['show', '3fa94c', '--json'])).out), { version: 1, token: '3fa94c' })
  t.match(JSON.parse((await hindsight(dataDir, ['show', '3fa94c', '--panel', 'events', '--json'])).out), [{ stage: String }])
  t.match(JSON.parse((await hindsight(dataDir, ['show', '3fa94c', '--panel', 'logs'])).out), [{ level: String }])
  t.match((await hindsight(dataDir, ['show', '3fa94c', '--panel', 'request'])).out, /"headers"/)
})

t.test('headers prints the code that set each header', async (t) => {
  const change = { pass: 'main', outcome: 'ran', start: 0, duration: 0, stage: 'kernel.response', listener: 'response' } as const
  const changes = [
    { name: 'content-type', from: null, to: 'text/plain', after: 0, by: 'handler', source: '/app/routes/a.ts:3' },
    { name: 'x-gone', from: 'a', to: null, after: 1, by: 'error handler' },
    { name: 'x-other', from: null, to: 'b', after: 1, by: 'a\u001b[31m' }
  ]
  const dataDir = await stored(t, [profile('000001', {
    events: [{ ...change, changes: { headers: [{ name: 'content-type', from: 'text/plain', to: HOSTILE }] } }],
    collectors: { headers: { changes } }
  }), profile('000002')])
  const { code, out, err } = await hindsight(dataDir, ['headers', '000001'])
  t.same([code, err], [0, ''])
  t.equal(out.slice(out.indexOf('\n\n') + 2), `content-type
  set     route handler /app/routes/a.ts:3
          text/plain
  changed response plugins/response.ts
          http://h/␛]0;pwned␇␛[31m⟨U+202E⟩txt␊␍

x-gone
  removed error handler

x-other
  set     a␛[31m
          b
`)
  const json = JSON.parse((await hindsight(dataDir, ['headers', '000001', '--json', '--header', 'X-Gone'])).out)
  t.same(json, { token: '000001', headers: { 'x-gone': [{ action: 'removed', by: 'error handler', from: 'a', to: null }] } })
  t.match((await hindsight(dataDir, ['headers', 'latest', '--url', 'robots'])).out, 'No header was set.')
  t.match(await hindsight(dataDir, ['headers', '000001', '--header', 'x']), { code: 1, err: 'fastify-hindsight: The response has no header "x"; it has: content-type, x-gone, x-other.\n' })
  t.match(await hindsight(dataDir, ['headers', '00000f']), { code: 1, err: 'fastify-hindsight: Token "00000f" was not found.\n' })
  t.match(await hindsight(dataDir, ['headers', '../x']), { code: 2 })
})

t.test('profiles are pinned, unpinned and purged', async (t) => {
  const dataDir = await stored(t, tokens(1, 4).map((token) => profile(token, { status: token === '000004' ? 500 : 200 })))
  t.equal((await hindsight(dataDir, ['pin', '000001'])).out, '000001 is pinned: it stays until it is unpinned.\n')
  t.equal((await hindsight(dataDir, ['purge', '--status', '2xx'])).out, '2 profiles were removed.\n')
  t.match((await hindsight(dataDir, ['list'])).out, /★ 000001/)
  t.same(JSON.parse((await hindsight(dataDir, ['unpin', '000001', '--json'])).out), { token: '000001', pinned: false })
  await hindsight(dataDir, ['pin', '000004'])
  t.same(JSON.parse((await hindsight(dataDir, ['purge', '--all', '--json'])).out), { purged: 1 })
  t.equal((await hindsight(dataDir, ['purge', '--all', '--pinned'])).out, '1 profile was removed.\n')
  t.equal((await hindsight(dataDir, ['list'])).out, 'No profile is stored.\n')
})

t.test('an export is imported into another store in its order, with its pins', async (t) => {
  const profiles = [...tokens(1, 120).map((token) => profile(token)), sample()]
  const here = await stored(t, profiles)
  const there = join(here, 'there')
  mkdirSync(there)
  await hindsight(here, ['pin', '000007'])
  const file = join(here, 'all.ndjson')
  t.equal((await hindsight(here, ['export', file])).out, `121 profiles were written to ${file}.\n`)
  t.equal((await hindsight(there, ['import', file])).out, '121 imported, 0 already stored.\n')
  t.equal((await hindsight(there, ['import', file])).out, '0 imported, 121 already stored.\n')
  const listed = async (dir: string) => JSON.parse((await hindsight(dir, ['list', '--json', '--limit', '1000'])).out).profiles
  t.same(await listed(there), await listed(here))
  t.same(JSON.parse((await hindsight(there, ['show', '3fa94c', '--json'])).out), withListenerLines(sample()))
  const piped = (await hindsight(here, ['export', '--limit', '3'])).out.trim().split('\n').map((line) => JSON.parse(line))
  t.same(piped.map((line) => line.profile?.token), [undefined, '000119', '000120', '3fa94c'])
  t.same(JSON.parse((await hindsight(here, ['export', join(here, 'few.ndjson'), '--token', '000007', '--json'])).out), { exported: 1 })
  writeFileSync(join(here, 'other.ndjson'), readFileSync(file, 'utf8').replace(/"time":"2026-01-02/g, '"time":"2025-01-02'))
  t.match((await hindsight(there, ['import', join(here, 'other.ndjson')])).out, /^0 imported, \d already stored\.\nLeft out, as the store has another profile with the token: 000001 000002/)
})

t.test('a token that occurs twice in a file is a conflict, unless the profiles are equal', async (t) => {
  const dataDir = testdir(t)
  const file = join(dataDir, 'in.ndjson')
  const lines = [profile('000001'), profile('000001'), profile('000002'), profile('000002', { time: '2026-01-03T00:00:00.000Z' })]
  writeFileSync(file, [{ hindsight: 'profiles', version: 1 }, ...lines.map((one) => ({ profile: one }))].map((one) => JSON.stringify(one)).join('\r\n'))
  t.same(JSON.parse((await hindsight(dataDir, ['import', file, '--json'])).out), { imported: 2, known: 1, conflicts: ['000002'] })
  t.equal(JSON.parse((await hindsight(dataDir, ['show', '000002', '--json'])).out).time, profile('000002').time)
})

t.test('a profile with missing or invalid parts is shown without them', async (t) => {
  const frame = { file: '/a.js', line: 1, column: 1, function: 'f', own: true, excerpt: {} }
  const exceptions = [{ name: 'E', message: 'm', stack: '', frames: [frame, { ...frame, excerpt: { start: 1, lines: 'x' } }] }, { name: 'F', message: '', stack: '' }]
  const events = [{}, { headers: {} }, { status: null }].map((changes) => ({ stage: 'kernel.request', listener: 'l', pass: 'main', outcome: 'ran', start: 0, duration: 0, changes }))
  const dataDir = await stored(t, [{ ...profile('000001'), exceptions, events } as unknown as Profile])
  const { code, out, err } = await hindsight(dataDir, ['show', '000001'])
  t.same([code, err], [0, ''])
  t.match(out, '/a.js:1')
})

t.test('an invalid file is refused with the number of its line', async (t) => {
  const dataDir = await stored(t, [profile('000001')])
  const header = JSON.stringify({ hindsight: 'profiles', version: 1 })
  const line = (changes: object) => JSON.stringify({ profile: { ...profile('000002'), ...changes } })
  for (const [text, message] of [
    ['', 'is empty.'],
    ['<html>', 'line 1: This is not JSON. 0 profiles before it were imported.'],
    ['null', 'line 1: This is not an object.'],
    ['{"a":1}', 'line 1: This is not a file that "fastify-hindsight export" has written.'],
    [JSON.stringify({ hindsight: 'profiles', version: 2 }), 'line 1: This file has version 2 of the format; version 1 can be read.'],
    [`${header}\n${line({})}\n${line({ token: '../../x' })}`, 'line 3: The profile is not valid: token must match pattern "^[0-9a-f]{6}$". 1 profiles before it were imported.'],
    [`${header}\n${line({ status: '200' })}`, 'line 2: The profile is not valid: status must be integer.'],
    [`${header}\n${line({ logs: [null] })}`, 'line 2: The profile is not valid: logs.0 must be object.'],
    [`${header}\n${line({ exceptions: [{ name: 'E', message: '', frames: [] }] })}`, "line 2: The profile is not valid: exceptions.0 must have required property 'stack'."],
    [`${header}\n${line({ exceptions: [{ name: 'E', message: '', stack: '', frames: [null] }] })}`, 'line 2: The profile is not valid: exceptions.0.frames.0 must be object.'],
    [`${header}\n${line({ events: [{ stage: 5, listener: 'l', pass: 'main', outcome: 'ran', start: 0 }] })}`, 'line 2: The profile is not valid: events.0.stage must be string.'],
    [`${header}\n${line({ version: 7 })}`, 'line 2: The profile is not valid: version must be equal to constant.'],
    [`${header}\n{"profile":{"token":"000003"`, 'line 2: This is not JSON.'],
    [`${header}\n${line({})}\n"${'x'.repeat(16 * 1024 * 1024)}"\n`, 'line 3: This line has more than 16 MiB. 0 profiles before it were imported.'],
    [`${header}\n${line({ time: '9999-99-99T00:00:00.000Z' })}`, 'line 2: The profile is not valid: time must match format "time".'],
    [`${header}\n${line({ time: '2026-02-31T00:00:00.000Z' })}`, 'line 2: The profile is not valid: time must match format "time".'],
  ] as const) {
    const file = join(dataDir, 'in.ndjson')
    writeFileSync(file, text)
    const { code, err } = await hindsight(dataDir, ['import', file])
    t.equal(code, 1)
    t.match(err, message)
  }
})

t.test('errors name the invalid argument', async (t) => {
  const dataDir = await stored(t, [profile('000001')])
  const missing = join(dataDir, 'nowhere')
  for (const [args, code, message] of [
    [['lst'], 2, 'There is no command "lst"; the commands are list, search, show, headers, compare, tail, pin, unpin, purge, export, import, to'],
    [['list', '--foo'], 2, 'Unknown option \'--foo\'. "fastify-hindsight list --help" lists the options.'],
    [['list', 'more', 'words'], 2, 'fastify-hindsight list [query]: 2 arguments were given.'],
    [['list', 'bogus:x'], 2, 'Invalid "bogus": there is no such criterion; known are token, ip, method, status, url, route, exception, min_duration, slow, from, until, error, parent; a part of a URL with a colon is written in quotes, "bogus:x".'],
    [['list', 'status:bad'], 2, 'Invalid "status": "bad" is neither a status such as 404 nor a class such as 4xx.'],
    [['list', '--sort', 'url'], 2, 'Invalid --sort: "url" is none of -time, time, -duration, duration, -status, status.'],
    [['list', '--status', 'bad'], 2, 'Invalid --status: "bad" is neither a status such as 404 nor a class such as 4xx.'],
    [['list', '--min-duration', 'x'], 2, 'Invalid --min-duration: "x" is not a duration such as >200ms or >1.5s.'],
    [['show'], 2, 'fastify-hindsight show <token | latest>: no argument was given.'],
    [['show', 'ABC'], 2, '"ABC" is neither a token of six hexadecimal digits nor "latest".'],
    [['show', '00000f'], 1, 'Token "00000f" was not found.'],
    [['show', 'latest', '--status', '500'], 1, 'No stored profile matches.'],
    [['show', '000001', '--panel', 'nope'], 1, 'Part "nope" was not found; this profile has: exceptions, logs, events.'],
    [['pin', '00000f'], 1, 'Token "00000f" was not found.'],
    [['pin', '../x'], 2, '"../x" is neither a token of six hexadecimal digits nor "latest".'],
    [['purge'], 2, 'purge needs a criterion, or --all for everything.'],
    [['purge', '--all', '--limit', '3'], 2, 'Unknown option \'--limit\'.'],
    [['list', '--cursor', 'x'], 1, 'Invalid "cursor": "x" is not one of a previous page.'],
    [['list', '--data-dir', missing], 1, `There is no store at ${missing}/profiles.db: run the command in the folder where the application was started, or set --data-dir (DATA_DIR).`],
    [['list', '--storage', 'memory'], 2, '--storage (STORAGE_URL): the memory of another process cannot be read; use sqlite or postgres://….'],
    [['list', '--storage', 'ftp://u:secret@h'], 1, 'profiler.storage (STORAGE_URL): "ftp://h" is neither sqlite nor memory, nor an address such as postgres://localhost:5432/hindsight'],
    [['import', missing], 1, `ENOENT: no such file or directory, open '${missing}'`],
    [['export', dataDir], 1, `EEXIST: file already exists, open '${dataDir}'`]
  ] as const) {
    const flags = (args as readonly string[]).includes('--data-dir') ? [] : ['--data-dir', dataDir]
    const err = new PassThrough()
    t.equal(await execute([...args, ...flags], new PassThrough().resume(), err), code, args.join(' '))
    t.match(String(err.read()), `fastify-hindsight: ${message}`)
  }
})

t.test('the latest failure is not the 404 of an icon', async (t) => {
  const dataDir = await stored(t, [failure('000001'), failure('000002', { url: 'http://h/favicon.ico', status: 404, route: null })])
  t.match(JSON.parse((await hindsight(dataDir, ['show', 'latest', '--error', '1', '--json'])).out), { token: '000001' })
  t.match(JSON.parse((await hindsight(dataDir, ['show', 'latest', '--json'])).out), { token: '000002' })
})

t.test('help is printed for each command', async (t) => {
  const dataDir = testdir(t)
  t.match((await hindsight(dataDir, ['list', '--help'])).out, /^Usage: fastify-hindsight list \[query\] \[options\]\n\nList the stored profiles, newest first\. A query [^]*--min-duration {2}/)
  t.match((await hindsight(dataDir, ['show', '--help'])).out, /^Usage: fastify-hindsight show <token \| latest> \[options\]\n/)
  const out = new PassThrough()
  t.equal(await execute([], out, new PassThrough()), 0)
  t.match(String(out.read()), /^ {2}show {10} show a profile/m)
})

t.test('no line of a table is longer than the terminal', async (t) => {
  const url = `http://127.0.0.1:3000/orders/17?${'filter[city]=Amsterdam&'.repeat(20)}page=7`
  const logs = [{ time: '2026-01-02T03:04:05.678Z', level: 'warn' as const, channel: 'app', message: `careful ${'with this '.repeat(30)}${'x'.repeat(300)}`, context: {} }]
  const dataDir = await stored(t, [
    { ...sample(), url, logs }, profile('000002', { url: `${url}1${HOSTILE}`, logs: [...logs, ...logs] }), failure('000003', { url: '/short' })
  ])
  const commands = [
    ['list'], ['show', '3fa94c'], ['show', '3fa94c', '--events'], ['headers', '3fa94c'], ['compare', '3fa94c', '000002'], ['compare', '3fa94c', '000002', '--events'],
    ['cpu', '3fa94c'], ['show', 'x'], ['nothing'], ['headers', '3fa94c', '--header', 'x'], ['help'], ...Object.keys(COMMANDS).map((name) => [name, '--help'])
  ]
  for (const columns of [40, 80, 120]) {
    for (const args of commands) {
      const { out, err } = await hindsight(dataDir, args, columns)
      const tooLong = (out + err).split('\n').map((line) => stripVTControlCharacters(line)).filter((line) => [...line].length > columns)
      t.same(tooLong, [], `${args.join(' ')} at ${columns}`)
    }
  }
  const shown = (await hindsight(dataDir, ['list'], 120)).out
  t.match(shown, /http:\/\/127\.0\.0\.1:3000\/ord[^ \n]*…[^ \n]*page=7/, 'a URL is shortened in the middle')
  const { out: listed } = await hindsight(dataDir, ['list'])
  t.match(listed, url, 'a file has the whole URL')
  process.env.COLUMNS = '50'
  t.teardown(() => { delete process.env.COLUMNS })
  const { out } = await hindsight(dataDir, ['help'])
  t.ok(out.split('\n').every((line) => line.length <= 50), 'COLUMNS is the width where it is set')
})

t.test('on a terminal events are shown with --events', async (t) => {
  const dataDir = await stored(t, [
    profile('000001', { events: [{ stage: 'kernel.request', listener: 'router', pass: 'main', outcome: 'ran', start: 0, duration: 0.1 }] }),
    profile('000002', { events: [{ stage: 'kernel.request', listener: 'router', pass: 'main', outcome: 'raised', start: 0, duration: 9 }] })
  ])
  for (const [args, pattern] of [[['show', '000002'], 'Notified event'], [['compare', '000001', '000002'], 'kernel.request router']] as const) {
    t.notMatch((await hindsight(dataDir, [...args], 80)).out, pattern)
    t.match((await hindsight(dataDir, [...args, '--events'], 80)).out, pattern)
  }
  t.match((await hindsight(dataDir, ['compare', '000001', '000002'], 80)).out, '1 difference of listeners: --events shows them.')
  t.equal((await hindsight(dataDir, ['show', '000002', '--markdown'], 80)).out, (await hindsight(dataDir, ['show', '000002'])).out)
})

t.test('tail follows the profiles of another process, until it is interrupted', async (t) => {
  const dataDir = await stored(t, [profile('000001')])
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/fastify-hindsight.js'), 'tail', '--json', '--error', '1', '--data-dir', dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const store = await openStorage({ dataDir })
  t.teardown(() => store.close())
  let printed = ''
  let count = 1
  const more = setInterval(() => { void store.put([failure(String(++count).padStart(6, '0')), profile(`0000${10 + count}`)].map((one) => recordOf(one))) }, 200) // eslint-disable-line no-void
  t.teardown(() => clearInterval(more))
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    printed += String(chunk)
    if (printed.split('\n').length > 2) break
  }
  for (const line of printed.trim().split('\n')) t.match(JSON.parse(line), { error: true, token: String })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGINT')
  t.equal(await ended, 0)
})

t.test('compare prints two profiles side by side', async (t) => {
  const dataDir = await stored(t, [
    profile('000001', { time: '2026-01-01T00:00:00.000Z', url: `${HOSTILE}x` }), failure('000002', { url: `${HOSTILE}x`, time: '2026-01-02T00:00:00.000Z' })
  ])
  const { out, code } = await hindsight(dataDir, ['compare', '000001', '000002'])
  t.equal(code, 0)
  t.notMatch(out, /[\u0007\u001b\r]/)
  t.match(out, /^A 000001 200 GET .*\n.*\nB 000002 404 GET .*\n.*\n {2}NotFoundError: .*\n\n3 differences, \d+ values are equal\.\n\nSTATUS AND ROUTE 1 difference, \d+ equal\n {2}status\n {4}- 200\n {4}\+ 404\n/)
  t.match(JSON.parse((await hindsight(dataDir, ['compare', '000001', '000002', '--json'])).out), { a: { token: '000001' }, b: { token: '000002' }, differences: 3 })
  t.match((await hindsight(dataDir, ['compare', '000002', '000002'])).out, 'No differences')
  t.equal((await hindsight(dataDir, ['compare', 'previous', 'latest', '--method', 'get', '--json'])).code, 0)
  for (const [args, expected, message] of [
    [['compare', '000001'], 1, /No success of the same route is stored before "000001"\./],
    [['compare', '000001', '000002', '000002'], 2, /3 arguments were given/],
    [['compare', '000001', 'x'], 2, /"x" is neither a token/],
    [['compare', '000001', '00000f'], 1, /Token "00000f" was not found/],
    [['compare', 'previous', '000001'], 1, /No profile of the same route is stored that is older than "000001"\./],
    [['compare', 'previous', '000002', '--status', '500'], 1, /and matches\./],
    [['compare', '000001', '000002', '--error', '1'], 2, /Criteria belong to "previous"/]
  ] as const) {
    const { code, err } = await hindsight(dataDir, [...args])
    t.equal(code, expected, args.join(' '))
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
    t.equal(code, 0)
    t.match(out, /^Differences from the last success 000001\n {2}request body count\n {4}- 1\n {4}\+ "⟨U\+202E⟩\\u001b1"\nReplay: fastify-hindsight replay 000002\n\nA 000001 /)
  }
  t.match(JSON.parse((await hindsight(dataDir, ['compare', '000002', '--json'])).out), { a: { token: '000001' }, b: { token: '000002' }, lastSuccess: { token: '000002', summary: { token: '000001' }, differences: [{ what: 'request body count' }] } })
  t.match(await hindsight(dataDir, ['compare', 'latest', '000002']), { code: 0, out: /^A 000003/ })
  t.match(await hindsight(dataDir, ['compare', 'latest', '000003', '--error', '1']), { code: 0, out: /^A 000002/ })
  const { out: markdown } = await hindsight(dataDir, ['show', '000002', '--markdown'])
  t.match(markdown, /## Differences from the last success\n\nLast success: profile `000001`, 200, [^]*\nrequest body count: 1 → "/)
  t.equal((await hindsight(dataDir, ['show', '000002'])).out, markdown)
  t.notMatch(markdown, 'Notified event')
  t.match((await hindsight(dataDir, ['show', '000002', '--events'])).out, 'Notified event "kernel.request" to listener "router"')
  t.match(await hindsight(dataDir, ['show', '000002', '--markdown', '--json']), { code: 2, err: /Give --markdown or --json/ })
  t.notMatch((await hindsight(dataDir, ['show', '000001'])).out, 'last success')
})

t.test('JSON and exports escape characters that reorder text', async (t) => {
  const text = 'a\u202eb\u2066c\u200bd'
  const dataDir = await stored(t, [profile('000001', { url: `http://h/${text}`, collectors: { request: { body: text } } })])
  for (const args of [['show', '000001', '--json'], ['show', '000001', '--panel', 'request'], ['list', '--json'], ['export'], ['compare', '000001', '000001', '--json']]) {
    const { out } = await hindsight(dataDir, args)
    t.notMatch(out, /[\u200b\u202e\u2066]/, args.join(' '))
    t.match(out, 'a\\u202eb\\u2066c\\u200bd')
  }
  const file = join(dataDir, 'profiles')
  await hindsight(dataDir, ['export', file])
  t.notMatch(readFileSync(file, 'utf8'), /[\u200b\u202e\u2066]/)
})

t.test('the request of a profile is printed in other formats', async (t) => {
  const dataDir = await stored(t, [sample('\u001b[31mred'), { ...profile('000001'), method: 'not one' }])
  for (const [args, content] of [
    [['curl', '3fa94c'], /^# Made from the profile 3fa94c [^]*\ncurl --silent/],
    [['fetch', '3fa94c'], /\nconst response = await fetch\('/],
    [['http', '3fa94c'], /\nGET http:\/\/127\.0\.0\.1:3000\//],
    [['har', '3fa94c'], /"version": "1\.2"/],
    [['test', '3fa94c'], /\nimport \{ test \} from 'node:test'\n[^]*\nimport application from '\.\/app\.js'\n/],
    [['test', '3fa94c', '--framework', 'tap', '--app', '/srv/app.js'], /\nimport t from 'tap'\n[^]*\nimport application from 'file:\/\/\/srv\/app\.js'\n/]
  ] as const) {
    const { code, out, err } = await hindsight(dataDir, ['to', ...args])
    t.same([code, err], [0, ''], args.join(' '))
    t.match(out, content, args.join(' '))
    t.notMatch(out, /[\u0007\u001b\r]/, args.join(' '))
  }
  t.match((await hindsight(dataDir, ['to', 'fetch', 'latest'])).code, 1, 'the newest, whose method cannot be sent')
  const { out: expected } = await hindsight(dataDir, ['to', 'curl', '3fa94c'])
  for (const args of [['latest', '--error', '1'], ['latest', 'curl', '--error', '1'], ['curl', '--error', '1'], ['curl', 'latest', '--error', '1'], ['3fa94c']]) {
    t.match(await hindsight(dataDir, ['to', ...args]), { code: 0, out: expected }, args.join(' '))
  }
  t.match(JSON.parse((await hindsight(dataDir, ['to', 'curl', '3fa94c', '--json'])).out), { file: 'hindsight-3fa94c.sh', text: /^# Made/ })
  for (const [args, expected, message] of [
    [['python', '3fa94c'], 2, '"python" is not a form; the forms are curl, fetch, http, har, test.'],
    [['curl', 'x'], 2, '"x" is neither a token of six hexadecimal digits nor "latest".'],
    [['curl', '00000f'], 1, 'Token "00000f" was not found.'],
    [['curl', '000001'], 1, 'The request of profile "000001" cannot be replayed: Its method cannot be sent.'],
    [['tap', '3fa94c'], 2, '"tap" is not a form; the forms are curl, fetch, http, har, test.'],
    [['test', '3fa94c', '--framework', 'jest'], 2, '--framework: "jest" is neither tap nor node.'],
    [['curl', '3fa94c', '--framework', 'tap'], 2, '--framework and --app need the form test.'],
    [['test', '3fa94c', '--app', ''], 2, '--app is empty.']
  ] as const) t.match(await hindsight(dataDir, ['to', ...args]), { code: expected, err: message }, args.join(' '))
})

t.test('a CPU profile is printed as a table, a file or JSON', async (t) => {
  const dataDir = await stored(t, [profile('000001'), profile('000002', { collectors: { cpu: { refused: 'Another one ran.' } } }), sample('\u001b[31m<b>')])
  const { code, out } = await hindsight(dataDir, ['cpu', '3fa94c'])
  t.equal(code, 0)
  t.match(out, '6 ms CPU time in 10 ms, whole process')
  t.match(out, '      5.5 ms      5.5 ms  ␛[31m<b>  ␛[31m<b>:3\n      500 µs        6 ms  next  node_modules/fastify/lib/hooks.js:234\n')
  t.notMatch(out, '\u001b')
  const file = join(dataDir, 'one.cpuprofile')
  t.match(await hindsight(dataDir, ['cpu', '3fa94c', '-o', file]), { code: 0, out: /was written to .*one\.cpuprofile/ })
  t.match(JSON.parse(readFileSync(file, 'utf8')), { endTime: 10_000, samples: [3, 4, 5, 6] })
  t.match(await hindsight(dataDir, ['cpu', '3fa94c', '-o', file]), { code: 1, err: /EEXIST: file already exists/ })
  t.match(await hindsight(dataDir, ['cpu', '3fa94c', '-o', join(dataDir, 'none/x')]), { code: 1, err: /ENOENT: no such file or directory/ })
  for (const args of [['--json'], ['-o', '-']]) t.match(JSON.parse((await hindsight(dataDir, ['cpu', 'latest', '--status', '404', ...args])).out), { endTime: 10_000 })
  t.match(await hindsight(dataDir, ['cpu', '000001']), { code: 1, err: /000001 has no CPU profile: request one with the header/ })
  t.match(await hindsight(dataDir, ['cpu', '000002']), { code: 1, err: /Another one ran\./ })
  t.match(await hindsight(dataDir, ['cpu', 'x']), { code: 2, err: /neither a token/ })
})
