import t from 'tap'
import { requested, written } from './stored.js'

t.test('a command is readable', async (t) => {
  const profile = requested({
    target: '/orders?x=1',
    headers: { host: '127.0.0.1:3000', accept: '*/*', 'content-type': 'application/json', 'content-length': '9', connection: 'close' },
    body: { a: "it's" }
  }, { method: 'POST', status: 500 })
  t.equal(written('curl', profile), `# Made from the profile 3fa94c of 2026-01-02T03:04:05.678Z: 500 POST http://127.0.0.1:3000/robots.txt
curl --silent --show-error --include --globoff --path-as-is \\
  --request 'POST' \\
  --url 'http://127.0.0.1:3000/orders?x=1' \\
  --header 'accept: */*' \\
  --header 'content-type: application/json' \\
  --data-raw '{"a":"it'\\''s"}'
`)
})

t.test('a test is readable', async (t) => {
  const profile = requested({
    target: '/orders?x=1',
    headers: { authorization: 'Bearer ******', 'content-type': 'application/json' },
    body: { a: "it's" }
  }, { method: 'POST', status: 500 })
  t.match(written('test', profile), `test("POST http://127.0.0.1:3000/robots.txt", async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(application)
  const response = await app.inject({
    method: "POST",
    url: "/orders?x=1",
    payload: JSON.stringify({
      "a": "it's"
    }),
    headers: {
      "authorization": "Bearer " + masked("HINDSIGHT_AUTHORIZATION"),
      "content-type": "application/json"
    }
  })
  assert.ok(response.statusCode < 500, 'the status is ' + response.statusCode + ' again: ' + response.body)
})
`)
})
