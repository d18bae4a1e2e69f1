import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { Profile } from '../../src/store/profile.js'
import { pack } from '../support/packed.js'

const run = promisify(execFile)
const FLAGS = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
const json = { accept: 'application/json' }

/** `.ci/run` runs this file on Node.js 24. */
const skip = 'withResolvers' in Promise ? false : 'Fastify 6 needs Node.js 22'

interface Started { url: string, version: string, methods: string[] }

let folder = ''

// Without --force: npm refuses a peer that does not fit.
t.before(async () => {
  if (skip !== false) return
  folder = mkdtempSync(join(tmpdir(), 'hindsight-fastify-6-'))
  cpSync(join(import.meta.dirname, '../fixtures/fastify-6'), folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const { filename } = await pack(folder)
  await run('npm', ['install', ...FLAGS, 'fastify@^6.0.0-alpha.0', `./${filename}`], { cwd: folder })
})
t.after(() => { if (folder !== '') rmSync(folder, { recursive: true, force: true }) })

/** Starts the application of the fixture; it is closed after the test. */
async function start (t: Test, mode: 'preload' | 'plugin'): Promise<Started> {
  const execArgv = mode === 'preload' ? ['--import', 'fastify-hindsight/register'] : []
  const env = { ...process.env, STORAGE_URL: 'memory', NODE_ENV: 'test' }
  const child = fork(join(folder, 'app.mjs'), [mode], { cwd: folder, execArgv, env })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    if (child.connected) child.send('close')
    await exited
  })
  const [started] = await once(child, 'message') as [Started]
  return started
}

for (const mode of ['preload', 'plugin'] as const) {
  t.test(`an application with the newest pre-release of Fastify 6 is explained (${mode})`, { skip }, async (t) => {
    const { url, version } = await start(t, mode)
    t.comment(`Fastify ${version}`)
    t.match(version, /^6\./)
    const send = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(url + path, {
        method, headers: { ...json, ...body !== undefined && { 'content-type': 'application/json' } }, ...body !== undefined && { body: JSON.stringify(body) }
      })
      const token = response.headers.get('x-debug-token') ?? ''
      const data: unknown = await response.json()
      // Its profile is stored after the response.
      let profile: Profile | null = null
      for (let tries = 0; profile === null && tries < 500; tries++) {
        const found = await fetch(`${url}/_profiler/${token}`, { headers: json })
        if (found.ok) profile = await found.json() as Profile
        else await new Promise((resolve) => setTimeout(resolve, 20))
      }
      if (profile === null) throw new Error(`${path} has no profile`)
      return { status: response.status, data, profile, token }
    }
    const ok = await send('GET', '/')
    t.same([ok.status, ok.data], [200, { hello: 'world' }])
    t.match(ok.profile, { status: 200, route: { pattern: '/', handler: /app\.mjs:7$/ } })
    t.ok(ok.profile.events.some(({ listener }: { listener: string }) => listener === 'checkUser'), 'hooks are recorded')
    const broken = await send('GET', '/broken')
    t.match(broken.profile, { status: 500, exceptions: [{ message: 'It broke', frames: [{ file: /app\.mjs$/, line: 10 }] }] })
    t.ok(broken.profile.logs.some(({ message }: { message: string }) => message === 'It will break'), 'its log is recorded')
    t.match((await send('POST', '/orders', {})).profile, { status: 400, exceptions: [{ rejected: { fields: [{ field: 'count' }] } }] })
    t.match(await send('POST', '/orders', { count: 1 }), { status: 200, profile: { route: { pattern: '/orders' } } })
    for (const [path, text] of [['/search', 'The path has routes, but not for GET'], ['/brokn', 'Similar route'], ['/broken', 'It broke']]) {
      const page = await fetch(`${url}${path}`, { headers: { accept: 'text/html', 'sec-fetch-dest': 'document' } })
      t.match((await page.text()).replace(/&#39;/g, "'"), text)
    }
    const found = await send('QUERY', '/search', { text: 'a' })
    t.match(found, { status: 200, data: { found: { text: 'a' } }, profile: { method: 'QUERY' } })
    const form = await (await fetch(`${url}/_profiler/${found.token}/replay`, { headers: json })).json() as { safe: boolean, formToken: string }
    t.equal(form.safe, true, 'QUERY is safe')
    const body = new URLSearchParams({ form_token: form.formToken })
    t.match(await (await fetch(`${url}/_profiler/${found.token}/replay`, { method: 'POST', body, headers: json })).json(), { status: 200 })
    t.match(await (await fetch(`${url}/_profiler/`, { headers: { accept: 'text/html' } })).text(), '<!DOCTYPE html>')
    t.match(await (await fetch(`${url}/_profiler/routes`, { headers: json })).json(), { routes: [{ name: 'GET /', hooks: [{ name: 'checkUser' }] }] })
  })
}

/** What Hindsight uses of Fastify that its documents do not promise: when a release changes it, this says what. */
t.test('canary: what Hindsight uses of Fastify', { skip }, async (t) => {
  const script = `
    import Fastify from 'fastify'
    import { subscribe } from 'node:diagnostics_channel'
    let published = null
    subscribe('fastify.initialization', ({ fastify }) => { published = fastify })
    const app = Fastify()
    const listeners = app.server.rawListeners('request')
    let kinds = []
    app.addHook('onRoute', (route) => { kinds.push(Object.keys(route).sort()) })
    app.get('/', { schema: { querystring: { type: 'object', required: ['a'] } }, attachValidation: false }, async () => 'ok')
    const names = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onResponse', 'onError', 'onTimeout',
      'onRequestAbort', 'onRoute', 'onRegister', 'onReady', 'onListen', 'preClose', 'onClose']
    const refused = names.filter((name) => { try { app.addHook(name, (...args) => args.at(-1)?.()) } catch { return true } })
    await app.ready()
    const answer = await app.inject('/')
    console.log(JSON.stringify({
      'fastify.initialization has the instance': published === app,
      'routing is the listener of the server': listeners.includes(app.routing),
      'onRoute has method, url, path, prefix, handler, schema': ['method', 'url', 'path', 'prefix', 'handler', 'schema'].every((key) => kinds[0].includes(key)),
      'hooks that are refused': refused,
      'app has pluginName, prefix, initialConfig, version, supportedMethods':
        ['pluginName', 'prefix', 'initialConfig', 'version', 'supportedMethods'].filter((name) => app[name] === undefined),
      'the code of an invalid request': answer.json().code
    }))`
  writeFileSync(join(folder, 'canary.mjs'), script)
  const { stdout } = await run(process.execPath, ['canary.mjs'], { cwd: folder })
  t.same(JSON.parse(stdout), {
    'fastify.initialization has the instance': true,
    'routing is the listener of the server': true,
    'onRoute has method, url, path, prefix, handler, schema': true,
    'hooks that are refused': [],
    'app has pluginName, prefix, initialConfig, version, supportedMethods': [],
    'the code of an invalid request': 'FST_ERR_VALIDATION'
  })
})
