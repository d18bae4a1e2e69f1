import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { executeCommand } from '../../../src/cli/run.js'
import { requestLines } from '../../../src/cli/request-lines.js'
import { sentenceLines } from '../../../src/cli/terminal.js'
import type { WaitingView } from '../../../src/recording/waiting.js'
import { openStorage } from '../../../src/store/open.js'
import { recordOf } from '../../../src/store/summary.js'
import { profile } from '../../parts/fixture.js'
import { listen } from '../../support/app.js'
import { testdir } from '../../support/folder.js'
import { inBothProducts } from '../../support/products.js'

const REQUEST = { token: '000001', time: '2026-01-02T03:04:05.678Z', method: 'GET', url: 'http://h/', duration: 1 }

async function run (...args: string[]): Promise<{ code: number, out: string, err: string }> {
  return await runAt(undefined, ...args)
}

/** With `columns` the output is a terminal. */
async function runAt (columns: number | undefined, ...args: string[]): Promise<{ code: number, out: string, err: string }> {
  const [out, err] = [Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns }), new PassThrough()]
  const texts = [text(out), text(err)]
  const code = await executeCommand(['waiting', ...args], out, err)
  out.end()
  err.end()
  return { code, out: await texts[0] ?? '', err: await texts[1] ?? '' }
}

inBothProducts('waiting lists what has not ended, with an exit code for scripts', async (t, build) => {
  const app = await build((app) => {
    app.get('/hang', async () => {
      await new Promise(() => {}) // the line
    })
  }, {}, { forceCloseConnections: true })
  const url = `http://127.0.0.1:${await listen(app)}`
  t.same(await run('--url', url), { code: 0, out: `No request or job of ${url} has lasted for more than a second.\n`, err: '' })
  t.same(JSON.parse((await run('--url', url, '--json')).out), { waiting: [], tracing: false })
  t.same(JSON.parse((await run('--url', url, '--trace', '--json')).out), { waiting: [], tracing: true })
  const client = http.get(`${url}/hang?note=%0A&token=secret-of-the-client`).on('error', () => {})
  t.teardown(() => client.destroy())
  let shown = await run('--url', url)
  while (shown.code === 0) shown = await run('--url', url)
  t.equal(shown.code, 2)
  t.match(shown.out.split('\n'), [
    /^▲ [\da-f]{6} {2}no response {2}[-\d]+ [:\d]+Z +[\d.]+ s {2}GET \/hang\?note=%0A&token=\*{6}$/,
    /^ {2}In the handler, packages\/hindsight\/test\/cli\/commands\/waiting\.test\.ts:35, for [\d,.]+ m?s\.$/,
    /^ {2}Not ended: await, packages\/hindsight\/test\/cli\/commands\/waiting\.test\.ts:36, for [\d,.]+ m?s\.$/,
    ''
  ])
  const long = http.get(`${url}/hang?${'filter[city]=Amsterdam&'.repeat(20)}page=7`).on('error', () => {})
  t.teardown(() => long.destroy())
  let narrow = await runAt(80, '--url', url)
  while (!narrow.out.includes('page=7')) narrow = await runAt(80, '--url', url)
  const lines = narrow.out.split('\n')
  t.ok(lines.length > 4, 'both requests')
  t.same(lines.filter((line) => [...line].length > 80), [])
  long.destroy()
  while (narrow.out.includes('page=7')) narrow = await runAt(80, '--url', url)
  const { code, out } = await run('--url', url, '--json')
  const { waiting: [request], ...others } = JSON.parse(out) as WaitingView
  t.equal(code, 2)
  t.same(others, { tracing: true }, 'the token of the form is not printed')
  t.same(Object.keys(request ?? {}).sort(), ['duration', 'for', 'in', 'method', 'route', 'sentences', 'time', 'token', 'traced', 'url'])
})

t.test('without a trace, the command says how to find the line', async (t) => {
  const view = { waiting: [{ ...REQUEST, sentences: ['In the handler, a.ts:1, for 2 s.'] }], tracing: false, formToken: '' }
  const server = http.createServer((_request, response) => { response.end(JSON.stringify(view)) })
  const address = await new Promise<AddressInfo>((resolve) => server.listen(0, '127.0.0.1', () => { resolve(server.address() as AddressInfo) }))
  t.teardown(() => server.close())
  const { out } = await run('--url', `http://127.0.0.1:${address.port}`)
  t.match(out, '\n  In the handler, a.ts:1, for 2 s.\n  For the line at which it waits: --trace, and run it again.\n')
})

t.test('the command names the one server that it has asked', async (t) => {
  const view = { waiting: [] as object[], tracing: true, formToken: '' }
  const server = http.createServer((_request, response) => { response.end(JSON.stringify(view)) })
  const address = await new Promise<AddressInfo>((resolve) => server.listen(0, () => { resolve(server.address() as AddressInfo) }))
  t.teardown(() => server.close())
  const dataDir = testdir(t)
  const store = await openStorage({ dataDir })
  const serverUrl = `http://localhost:${address.port}`
  await store.put([recordOf(profile('000001', { url: `${serverUrl}/`, collectors: { request: { serverUrl } } }))])
  await store.close()
  const asked = `Only ${serverUrl} was asked. Another server: --url <address>\n`
  t.equal((await run('--data-dir', dataDir)).out, `No request or job of ${serverUrl} has lasted for more than a second.\n${asked}`)
  view.waiting = [{ ...REQUEST, sentences: [] }]
  const { code, out } = await run('--data-dir', dataDir)
  t.equal(code, 2)
  t.ok(out.endsWith(`GET /\n${asked}`), out)
})

t.test('a service that cannot be reached is a failure', async (t) => {
  const { code, err } = await run('--url', 'http://127.0.0.1:1')
  t.equal(code, 1)
  t.match(err, 'The service at http://127.0.0.1:1 cannot be reached')
})

t.test('a request without a status is not shown as a success', async (t) => {
  const request = { ...REQUEST, status: 0, error: false, exception: null }
  const style = (color: unknown, text: string): string => `<${String(color)}>${text}`
  t.match(requestLines('▲', request, { columns: 80, style }), ['▲ <bold>000001  <dim>no response  <dim>'])
  t.match(requestLines('●', { ...request, status: 200, error: true }, { columns: 80, style }), ['● <bold>000001  <yellow>200  <dim>'])
})

t.test('a sentence is continued on the next line of a terminal, and whole elsewhere', (t) => {
  const style = (_color: unknown, text: string): string => text
  const text = `In the handler, a.ts:1, for 2 s, ${'x'.repeat(30)} and \u202e\u001b[31m`
  t.same(sentenceLines(text, { columns: 24, style }), [
    '  In the handler,', '  a.ts:1, for 2 s,', '  xxxxxxxxxx…xxxxxxxxxx', '  and ⟨U+202E⟩␛[31m'
  ])
  t.same(sentenceLines(text, { columns: Infinity, style }), [`  In the handler, a.ts:1, for 2 s, ${'x'.repeat(30)} and ⟨U+202E⟩␛[31m`])
  t.same(sentenceLines('', { columns: 24, style }), ['  '])
  t.same(sentenceLines('a b', { columns: 1, style }), ['  a', '  b'])
  t.end()
})
