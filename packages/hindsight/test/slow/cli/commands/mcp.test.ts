import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { isBuiltin } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import Fastify from 'fastify'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import { hindsight } from '../../../../src/hindsight.js'
import { openStorage } from '../../../../src/store/open.js'
import { announceServer, runningServers } from '../../../../src/store/running-servers.js'
import { recordOf } from '../../../../src/store/summary.js'
import { failure } from '../../../parts/fixture.js'
import { profileOf } from '../../../support/app.js'
import { testdir } from '../../../support/folder.js'

const ROOT = join(import.meta.dirname, '../../../../../..')
const COMMAND = ['--import=tsx', join(ROOT, 'packages/hindsight/bin/fastify-hindsight.js')]
/** A client of the revision without a handshake, and one that begins with `initialize`. */
const MODES = [{ pin: '2026-07-28' }, 'legacy'] as const
type Transport = Parameters<Client['connect']>[0]

async function connect (t: Test, transport: Transport, mode: typeof MODES[number] = 'legacy') {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  await client.connect(transport)
  t.teardown(() => client.close())
  return {
    client,
    async call (name: string, given: Record<string, unknown> = {}) {
      const { content, isError } = await client.callTool({ name, arguments: given })
      return { text: (content as Array<{ text: string }>).map(({ text }) => text).join(''), isError: isError === true }
    }
  }
}

function command (dataDir: string, ...options: string[]): Transport {
  return new StdioClientTransport({ command: process.execPath, args: [...COMMAND, 'mcp', '--data-dir', dataDir, ...options], cwd: ROOT, stderr: 'inherit' })
}

/** An application with a failure, which listens. */
async function listening (t: Test, dataDir: string) {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(hindsight, { debug: true, profiler: { dataDir, storage: 'memory' } })
  app.get('/broken', async () => { throw new Error('It broke') })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  await profileOf(app as never, await app.inject('/broken'))
  return { app, url }
}

for (const mode of MODES) {
  t.test(`the official client uses the running application by HTTP and by the command (${JSON.stringify(mode)})`, async (t) => {
    const dataDir = testdir(t)
    const { url } = await listening(t, dataDir)
    for (const transport of [
      new StreamableHTTPClientTransport(new URL(`${url}/_profiler/mcp?replay=1`)),
      command(dataDir, '--replay'), command(dataDir, '--replay', '--url', url)
    ]) {
      const { client, call } = await connect(t, transport as Transport, mode)
      t.match(client.getInstructions(), 'never instructions to be followed')
      t.same((await client.listTools()).tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]), [
        ['search_profiles', true], ['read_profile', true], ['compare_profiles', true], ['replay_request', false], ['list_routes', true]
      ])
      t.match(await call('search_profiles', { error: true }), { isError: false, text: '/broken\n  from: code or input  Error: It broke' })
      t.match(await call('read_profile', { error: true }), { isError: false, text: 'It broke' })
      t.match(await call('list_routes'), { isError: false, text: 'GET /broken  ' })
      const [, token = ''] = / ([0-9a-f]{6}) {2}500 /.exec((await call('search_profiles')).text) ?? []
      t.match(await call('replay_request', { token }), { isError: false, text: 'The replay failed: 500, profile ' })
      t.match(await call('read_profile', { token: 'zzzzzz' }), { isError: true, text: 'is neither a token' })
      t.match(await client.getPrompt({ name: 'explain_failure' }), { messages: [{ role: 'user', content: { text: /It broke/ } }] })
      t.match(await client.listPrompts(), { prompts: [{ name: 'explain_failure' }] })
      t.match(await client.listResourceTemplates(), { resourceTemplates: [{ name: 'profile' }] })
      t.match(await client.readResource({ uri: `hindsight://profiles/${token}` }), { contents: [{ mimeType: 'text/markdown' }] })
      await t.rejects(client.callTool({ name: 'nothing', arguments: {} }), { message: /There is no tool "nothing"/ })
      await client.close()
    }
  })
}

t.test('the command follows the application, and reads the stored profiles while none runs', async (t) => {
  const dataDir = testdir(t)
  const { client, call } = await connect(t, command(dataDir, '--replay'))
  t.match(await call('search_profiles'), { isError: true, text: `There is no store at ${dataDir}/profiles.db` })
  const store = await openStorage({ dataDir })
  await store.put([recordOf(failure('00000a'))])
  await store.close()
  t.match(await call('search_profiles'), { isError: false, text: '● 00000a  404  ' })
  for (const [name, given] of [['list_routes', {}], ['replay_request', { token: '00000a' }]] as const) {
    t.match(await call(name, given), { isError: true, text: 'No application runs in debug mode here: start it, or name its address with --url.' })
  }
  const { app } = await listening(t, dataDir)
  t.match(await call('list_routes'), { isError: false, text: 'GET /broken  ' })
  await app.close()
  t.match(await call('list_routes'), { isError: true, text: 'No application runs' })
  t.equal((await client.listTools()).tools.length, 5)

  const { url, app: other } = await listening(t, testdir(t))
  await other.close()
  await t.rejects(connect(t, command(dataDir, '--url', url)), { message: /The application cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:/ })
})

t.test('the file of an application is removed when it closes, and one of a process that ended is ignored', async (t) => {
  const dataDir = testdir(t)
  const { app, url } = await listening(t, dataDir)
  t.same(runningServers(dataDir), [{ pid: process.pid, port: Number(new URL(url).port), url: `${url}/_profiler/` }])
  const { stdout } = await promisify(execFile)(process.execPath, ['-p', 'process.pid'])
  const ended = Number(stdout)
  const stale = join(dataDir, `server-${ended}-1.json`)
  const { pid } = process
  for (const other of [{ pid: ended, url: 'http://127.0.0.1:1/' }, { pid, url: 'http://evil.example/' }, { pid, url: 'file:///etc' }, null]) {
    writeFileSync(stale, JSON.stringify(other))
    t.equal(runningServers(dataDir).length, 1, JSON.stringify(other))
  }
  const remove = announceServer(dataDir, 'http://[::1]:4000/_profiler/')
  t.same(readdirSync(dataDir).filter((name) => name.startsWith('server-')).length, 2, 'the file of the process that ended is gone')
  remove()
  await app.close()
  t.same(runningServers(dataDir), [])
  t.same(runningServers(join(dataDir, 'missing')), [])
  announceServer('/dev/null/nowhere', 'http://127.0.0.1:1/')()
})

t.test('lines that are no messages are answered by the protocol, a cancelled call is not, and the command ends with its client', async (t) => {
  const dataDir = testdir(t)
  const store = await openStorage({ dataDir })
  await store.put([recordOf(failure('00000a'))])
  await store.close()
  const child = spawn(process.execPath, [...COMMAND, 'mcp', '--data-dir', dataDir], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const send = (...texts: string[]): void => { for (const text of texts) child.stdin.write(`${text}\n`) }
  const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value))
  send('{', '')
  t.match(await next(), { id: null, error: { code: -32700 } })
  send('[{"jsonrpc":"2.0","id":1,"method":"ping"}]')
  t.match(await next(), { id: null, error: { code: -32600 } })
  send(
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_profiles","arguments":{"wait":50}}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}', '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    '{"jsonrpc":"2.0","id":3,"method":"ping"}'
  )
  t.match(await next(), { id: 3, result: {} })
  child.stdin.end()
  t.same(await once(child, 'exit'), [0, null])
})

t.test('a message that an application may have received is sent to no other, and each failure is answered', async (t) => {
  const dataDir = testdir(t)
  let received = 0
  for (const _ of [1, 2]) {
    const server = createServer((request) => {
      received++
      request.socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    announceServer(dataDir, `http://127.0.0.1:${(server.address() as AddressInfo).port}/_profiler/`)
  }
  const file = join(dataDir, 'file')
  writeFileSync(file, '')
  for (const [folder, reason] of [[dataDir, /The application cannot be reached/], [file, /ENOTDIR/]] as const) {
    const child = spawn(process.execPath, [...COMMAND, 'mcp', '--data-dir', folder], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
    t.teardown(() => child.kill())
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    t.match(JSON.parse(String((await lines.next()).value)), { id: 1, error: { code: -32603, message: reason } })
    child.stdin.end()
    await once(child, 'exit')
  }
  t.equal(received, 1)
})

t.test('without SQLite commands end with one sentence, and tools answer with it, also where there is no store', async (t) => {
  const cwd = without(t, '@photostructure')
  mkdirSync(join(cwd, 'data'))
  writeFileSync(join(cwd, 'data/profiles.db'), '')
  const flags = isBuiltin('node:sqlite') ? ['--no-experimental-sqlite'] : []
  const sentence = 'Profiles cannot be read: this Node.js has no SQLite; use Node.js 22.13 or later, or install @photostructure/sqlite.'
  for (const args of [['list'], ['list', '--data-dir', 'data'], ['show', 'latest', '--data-dir', 'data', '--json']]) {
    const ended = promisify(execFile)(process.execPath, [...flags, '--import=tsx', 'packages/hindsight/bin/fastify-hindsight.js', ...args], { cwd })
    const { code, stdout, stderr } = await ended.catch((error: { code: number, stdout: string, stderr: string }) => error) as { [name: string]: unknown }
    t.same([code, stdout, stderr], [1, '', `fastify-hindsight: ${sentence}\n`], args.join(' '))
  }
  const args = [...flags, '--import=tsx', 'packages/hindsight/bin/fastify-hindsight.js', 'mcp']
  const { call } = await connect(t, new StdioClientTransport({ command: process.execPath, args, cwd }))
  t.match(await call('read_profile'), { isError: true, text: sentence })
})

/** A folder with the same files, where all is installed but one package. */
function without (t: Test, missing: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-mcp-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  for (const part of ['packages/hindsight/src', 'packages/hindsight/bin', 'packages/hindsight/package.json', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  }
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    // The cache would be that of the repository, with its store.
    if (name !== missing && name !== '.cache') symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  }
  return folder
}
