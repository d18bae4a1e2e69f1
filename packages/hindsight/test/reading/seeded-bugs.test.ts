import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { successOf } from '../../src/reading/compare/last-success.js'
import { profileMarkdown } from '../support/marks.js'
import { seededBugs } from '../fixtures/seeded/bugs.js'
import { profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const FILE = 'packages/hindsight/test/fixtures/seeded/bugs.ts'
const LINES = readFileSync(join(import.meta.dirname, '../../../../', FILE), 'utf8').split('\n')

/** The place of the line with a comment. */
function at (comment: string): string {
  return `${FILE}:${LINES.findIndex((line) => line.endsWith(`// ${comment}`)) + 1}`
}

async function failingServer (t: Test): Promise<string> {
  const server = createServer((_request, response) => { response.writeHead(503).end() })
  t.teardown(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function sheetOf (app: FastifyInstance, request: InjectOptions): Promise<string> {
  const found = await profileOf(app, await app.inject({ ...request, headers: { accept: 'application/json' } }))
  const { profiler } = app.hindsight
  const source = { search: profiler.search.bind(profiler), get: profiler.find.bind(profiler) }
  return profileMarkdown(found, await successOf(source, found))
}

inBothProducts('the first text of a profile names the cause and the line of a bug, within 6 kB', async (t, build) => {
  const app = await build(seededBugs)
  const origin = await failingServer(t)
  const cases: Array<[request: InjectOptions, facts: string[]]> = [
    [{ url: '/wrong-query' }, [
      '`no such column: naem`', `## Hint\n\nA query failed\n\nno such column: naem. (\`${at('wrong query')}\`)\n\n\`\`\`sql\nselect naem from users`,
      '// wrong query'
    ]],
    [{ url: '/orders' }, [
      `- \`select * from users where id = ?\` 12 times from ${at('n+1')}, `, '[app] orders loaded {"orders":0}'
    ]],
    [{ url: '/dropped' }, [
      'response.email was removed (not in the schema of response 200), schema response/200/properties', `declared at \`${at('dropped field')}\``
    ]],
    [{ url: '/admin/users' }, [
      '`no user is logged in`', 'The preHandler hook "requireUser" of admin (', ') raised Error; the handler of GET /admin/users (',
      `(${at('hook order')})`, 'requireUser raised, '
    ]],
    [{ url: '/blocked' }, ['The event loop was blocked for ', `Meanwhile the request was in the handler at ${at('blocked loop')}.`]],
    [{ url: `/failing-call?origin=${origin}` }, [
      '`stock service answered 503`', `GET ${origin}/stock/7\`: 503 (\`${at('failing call')}\`)`,
      `GET ${origin}/stock/7 from ${at('failing call')}, `, at('failure of the call')
    ]],
    [{ url: '/twice' }, [
      `The client received the response of ${at('first response')}, and not that of ${at('second response')}.`
    ]],
    [{ url: '/missing-await' }, [
      "`Cannot read properties of undefined (reading 'toUpperCase')`", at('missing await'), 'const user = loadUser()'
    ]],
    [{ method: 'POST', url: '/items', payload: { quantity: 'many' } }, [
      '`body/quantity: must be integer, got "many"`', '{"quantity":"many"}', `declared at \`${at('validation')}\``
    ]],
    [{ url: '/articles' }, [
      '`No route found for "GET http://localhost/articles"`',
      `- \`GET /api/v1/articles\`: the prefix "/api/v1" is missing in the path (\`${at('wrong prefix')}\`)`
    ]],
    [{ url: '/swallowed' }, [
      '- `select nmae from users` failed: no such column: nmae', at('swallowed error'), 'ERROR [app] the users could not be loaded {"err":'
    ]],
    [{ url: '/cookie' }, ['The browser drops the cookie "theme": it has SameSite=None without Secure', `declared at \`${at('dropped cookie')}\``]],
    [{ url: '/views' }, [
      ', changed the status from 200 to 202, changed x-views, added at ', at('status of a hook'), 'onSend countViews ran, '
    ]],
    [{ url: '/page?page=1' }, ['1 × select name from pages limit 5 offset 5 (0 rows, ', `, ${at('off by one')})`]],
    [{ url: '/total?total=0.3' }, [`422 Unprocessable Entity, sent by ${at('comparison of floats')}\n`]],
    [{ url: '/environment' }, ['- input: `undefined/items`', at('missing variable'), '> ']],
    [{ url: '/nullable' }, [
      'response.id: null became 0 (type: integer)', 'response.name: null became "" (type: string)', at('nullable')
    ]],
    [{ url: '/hidden' }, ['and an error was recorded: Error: no price (', `200 OK, sent by ${at('hidden error')}\n`]]
  ]
  for (const [request, facts] of cases) {
    const sheet = await sheetOf(app, request)
    t.ok(Buffer.byteLength(sheet) <= 6_000, `${String(request.url)}: ${Buffer.byteLength(sheet)} bytes`)
    for (const fact of facts) t.ok(sheet.includes(fact), `${String(request.url)}: ${fact}\n${sheet.includes(fact) ? '' : sheet}`)
  }
})
