import { setTimeout as sleep } from 'node:timers/promises'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStorage } from '../../../packages/hindsight/src/store/open.js'
import { MemoryStorage } from '../../../packages/hindsight/src/store/memory.js'
import { build } from '../../../packages/hindsight/test/support/app.js'
import { PRELOAD, run, SECRET, startCommand } from '../../../packages/hindsight/test/support/process.js'
import { startService, until } from './start.js'

function folder (t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'hindsight-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

t.test('a failing custom store is reported, in production in the log', async (t) => {
  const storage = new MemoryStorage({})
  const options = {
    debug: false,
    profiler: { production: true, storage },
    profilerRole: 'ROLE_OPERATOR',
    security: {
      firewalls: [{ name: 'main', authenticators: { basic: true as const } }],
      providers: { users: async (identifier: string) => ({ identifier, password: 'x', roles: ['ROLE_OPERATOR'] }) },
      hasher: { verify: async () => true, hash: async () => 'x' }
    }
  }
  const lines: string[] = []
  const logger = { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } }
  const app = await build(t, options as never, undefined, { logger })
  const headers = { authorization: `Basic ${Buffer.from('op:x').toString('base64')}`, accept: 'text/html' }
  t.equal((await app.inject({ url: '/_profiler/', headers })).statusCode, 200)
  storage.search = () => { throw new Error('the disk of the store is gone') }
  const page = await app.inject({ url: '/_profiler/', headers })
  t.equal(page.statusCode, 503)
  const reason = 'The store of profiles failed: the disk of the store is gone'
  t.notMatch(page.body, reason)
  t.match(lines.join(''), reason)
  t.not((await app.inject('/_profiler/')).statusCode, 503, 'other clients do not see the failure')
})

t.test('a store that another process locks: requests are answered, profiles wait, the process can end', async (t) => {
  const dataDir = folder(t)
  const environment = { DATA_DIR: dataDir, SESSION_SECRET: SECRET }
  const process = run(t, startCommand(PRELOAD), environment)
  const second = run(t, startCommand(PRELOAD), environment)
  const ports = [await process.listening(), await second.listening()] as const
  const [port] = ports
  const fine = async (of: number = port): Promise<string | null> => {
    const answer = await fetch(`http://127.0.0.1:${of}/fine`)
    t.equal(await answer.text(), 'fine')
    return answer.headers.get('x-debug-token')
  }
  const read = async (path: string, of: number = port): Promise<Response> => {
    return await fetch(`http://127.0.0.1:${of}${path}`)
  }
  const isStored = async (token: string | null): Promise<number> => (await read(`/_profiler/${token}.json`)).status
  const lock = async () => {
    const args = ['--import=tsx', join(import.meta.dirname, 'locker.ts'), join(dataDir, 'profiles.db')]
    const locker = spawn(globalThis.process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => { locker.kill('SIGKILL') })
    await once(locker.stdout, 'data')
    return locker
  }
  const first = await fine()
  await until(() => isStored(first), (status) => status === 200)
  t.equal((await read('/_profiler/')).status, 200)

  const locker = await lock()
  const tokens = await Promise.all(Array.from({ length: 40 }, () => fine()))
  for (const of of ports) {
    const page = await read('/_profiler/search.json', of)
    t.equal(page.status, 200, 'stored profiles can be read, also by a process that opens the store now')
    t.match((await page.json() as { profiles: unknown[] }).profiles, [{ token: first }])
  }
  locker.kill('SIGKILL')
  await until(async () => await (await read('/_profiler/search.json?limit=200')).text(), (text) => {
    return tokens.every((token) => text.includes(String(token)))
  })
  t.pass('queued profiles are written when the lock is released')

  await lock()
  await fine()
  // The lock is still held: it does not wait for it.
  t.equal(await process.exit('SIGTERM'), 0)
  t.match(process.stdout, /1 profiles were not written when the application was closed/)
  await fine(ports[1])
  second.signal('SIGTERM')
  await second.said(/Closing/)
  // Signals within a second are one.
  await sleep(1_100)
  t.equal(await second.exit('SIGTERM'), 1, 'a second signal ends it at once')
  t.same([process.stderr, second.stderr], ['', ''])
})

const skip = globalThis.process.platform === 'win32'

t.test('a full disk: requests are answered, and the page has a message', { skip }, async (t) => {
  const dataDir = folder(t)
  // A limit of the shell for the size of files stands for the disk; the child keeps it.
  const service = await startService(t, { service: { profiler: { dataDir } } }, [], 1_500)
  const ask = async (path: string): Promise<Response> => await fetch(`http://127.0.0.1:${service.port}${path}`)
  const stored: string[] = []
  const body = Array.from({ length: 3_000 }, () => Math.random()).join()
  const init = { method: 'POST', headers: { 'content-type': 'text/plain' }, body }
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${service.port}/echo`, init)
    t.equal(answer.status, 200)
    stored.push(String(answer.headers.get('x-debug-token')))
    const { counters } = await service.figures()
    if ((counters?.failed ?? 0) > 0) break
    if (stored.length > 2_000) throw new Error('the limit was not felt')
  }
  const page = await ask('/_profiler/')
  t.equal(page.status, 200, 'stored profiles can be read')
  const text = (await page.text()).replaceAll('&#34;', '"')
  const reason = '(?:disk I/O error|database or disk is full)'
  t.match(text, new RegExp(`Last reason: the store failed: The store ".*profiles\\.db" cannot be used: ${reason}`))
  const { counters } = await service.figures()
  service.process.kill('SIGKILL')
  await once(service.process, 'exit')
  const storage = await openStorage({ dataDir, warn: (message) => t.fail(message) })
  t.teardown(() => storage.close())
  const { profiles } = await storage.search({ limit: 5_000 })
  const written = counters?.written ?? Infinity
  t.ok(profiles.length >= written, `${profiles.length} are there of ${written} that were acknowledged`)
})

t.test('a folder without write permission stops the start, with its name', async (t) => {
  const dataDir = folder(t)
  chmodSync(dataDir, 0o555)
  const args = ['--import=tsx', join(import.meta.dirname, 'read-only.ts'), dataDir]
  const child = spawn(globalThis.process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { output += text })
  await once(child, 'close')
  t.match(output, new RegExp(`^The store "${dataDir}/profiles\\.db" cannot be used: EACCES`))
})
