import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'

const stylesheet = await readFile(join(import.meta.dirname, '../style.css'), 'utf8')
const version = createHash('sha256').update(stylesheet).digest('base64url')

/** What belongs to no page in particular. */
export default async function site (app: FastifyInstance): Promise<void> {
  // The language of whoever is logged in, else the one that the browser asks for.
  app.get('/', { config: { name: 'home' } }, async (request, reply) =>
    reply.redirect(`/${request.session.locale ?? request.locale}/articles`))

  const cache = { public: true, maxAge: '1 minute', sMaxAge: '1 hour', etag: () => version } as const
  app.get('/style.css', { config: { name: 'stylesheet', cache } }, async (_request, reply) =>
    reply.type('text/css; charset=utf-8').send(stylesheet))

  // Fails on purpose: look at the page, then at its profile.
  app.get('/articles/broken', { config: { name: 'article_broken' } }, async (request) => {
    request.log.info({ source: 'yesterday.json' }, 'Importing an article')
    return importArticle('{ "title": "Half an article", "body": ')
  })
}

function importArticle (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('The article of yesterday.json cannot be imported', { cause })
  }
}
