import { join } from 'node:path'
import { ROOT, snippetsOf, type Snippet } from '../../packages/hindsight/test/support/snippets.js'

// What the pieces of a page leave out as the reader has it: it is inserted before each, when it is compiled and when it runs.
const ARTICLE = `import { Article } from '${join(import.meta.dirname, 'article.js')}'
`
const START = `import Fastify, { type FastifyPluginAsync, type FastifyRequest } from 'fastify'
import { service } from '${join(ROOT, 'app/service.js')}'
export const app = Fastify({ pluginTimeout: 60_000 })
`
const REGISTERED = `${START}await app.register(service, { debug: true, profiler: { storage: 'memory' } })
`

/** An import of another file of the same page. */
const OTHER_FILE = /^import .* from '\.\/(?!app\/|lib\/).*\n/gm

/** By page, what its pieces of TypeScript leave out; the pages whose pieces are whole are not here. */
const AHEAD: Readonly<Record<string, string>> = {
  'docs/architecture.md': START,
  'docs/reference/assets.md': START,
  'docs/reference/controller-attributes.md': `${START}await app.register(service, {
  debug: true,
  profiler: { storage: 'memory' },
  security: {
    providers: { people: { users: [] } },
    firewalls: [{ name: 'main', authenticators: { bearer: { verify: () => ({ identifier: 'ada', roles: ['ROLE_USER'] }) } } }]
  }
})
app.decorateReply('viewAsync', async (page: string, data: unknown) => page + JSON.stringify(data) as never)
const changedAt = (_params: unknown) => new Date('2026-01-02T03:04:05Z')
const find = async (params: unknown) => params
`,
  'docs/reference/http-cache.md': `${REGISTERED}export const calls: string[] = []
const changedAt = async (id: number) => new Date(Date.UTC(2026, 0, id))
const versionOf = async (id: number) => 'version ' + id
const handler = async () => { calls.push('handled'); return 'the article' }
`,
  'docs/reference/links.md': REGISTERED,
  'docs/reference/pagination.md': `${REGISTERED}const countArticles = async () => 45
export const asked: object[] = []
const findArticles = async (wanted: { limit: number, offset: number, sort: string | null, direction: 'asc' | 'desc' }) => {
  asked.push(wanted)
  return ['one', 'two']
}
const asItem = (article: string) => '<li>' + article + '</li>'
`,
  'docs/reference/param-converter.md': `${ARTICLE}${START}const articles = {
  find: async (id: string): Promise<Article | undefined> => id === '7' ? new Article() : undefined
}
`,
  'docs/how-to/store.md': `class ArchivingStorage { constructor (file, bounds) {} }
`,
  'docs/reference/template.md': START,
  'docs/tutorial/find-a-bug.md': `const request = { query: { currency: 'usd' } }
`,
  'docs/tutorial/find-an-n-plus-1-query.md': `const [database, orders, shop] = [{}, [], () => {}]
`,
  'docs/how-to/query-budget.md': `const [app, hindsight, database, build] = [{}, {}, {}, async () => ({})]
`
}

/** The pieces of a page in TypeScript and JavaScript, with what they leave out. */
export function fragmentsOf (page: string): Snippet[] {
  const ahead = AHEAD[page] ?? ''
  return snippetsOf(page)
    .filter(({ language }) => language === 'ts' || language === 'js')
    // What is written for the folder `plugins` of the service is compiled in its root.
    .map((snippet) => ({ ...snippet, code: ahead + snippet.code.replaceAll(OTHER_FILE, '').replaceAll("'../lib/", "'./lib/") }))
}
