import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { ROOT, runSnippet, snippetsOf, type Snippet } from '../support/snippets.js'

const PAGE = 'docs/tutorial/find-a-bug.md'
const folder = t.testdir()
process.chdir(folder)
t.teardown(() => process.chdir(ROOT))

function marked (wanted: string): Snippet {
  const found = snippetsOf(PAGE).find(({ mark }) => mark === wanted)
  if (found === undefined) throw new Error(`${PAGE} has no piece marked "${wanted}"`)
  return found
}

async function started (t: Test, change: (code: string) => string): Promise<FastifyInstance> {
  const snippet = marked('run: shop')
  const code = change(snippet.code).replace('port: 3000', 'port: 0').replace('logger: true', 'logger: { level: \'silent\' }')
  const { app } = await runSnippet({ ...snippet, code: `${code}export { app }\n` }, folder) as { app: FastifyInstance }
  t.teardown(() => app.close())
  return app
}

t.test('the application of the tutorial fails as the page says', async (t) => {
  const app = await started(t, (code) => code)
  t.same((await app.inject('/orders/1')).json(), { id: 1, toPay: 36 })
  const { statusCode, body } = await app.inject({ url: '/orders/2', headers: { accept: 'text/html' } })
  t.equal(statusCode, 500)
  for (const text of ['Cannot read properties of undefined (reading', 'toPay', 'found the order']) t.ok(body.includes(text), text)
})

t.test('the correction of the tutorial fixes the failure', async (t) => {
  const correction = marked('run: correction').code
  const app = await started(t, (code) => code.replace(/^function toPay [^]*?^\}\n/m, () => correction))
  t.same((await app.inject('/orders/2')).json(), { id: 2, toPay: 25 })
})
