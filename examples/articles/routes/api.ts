import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify'
import type { ConvertedParams } from '../../../lib/attributes.js'
import type { User } from '../../../lib/security/users.js'
import { article as schema, draft } from '../schemas.js'
import type { Draft } from '../store.js'

export const autoPrefix = '/api/articles'

const one = {
  params: { article: 'article' },
  // A client that has this version receives 304.
  cache: {
    public: true,
    maxAge: '10 seconds',
    etag: ({ params: { article } }: FastifyRequest<Of>) => `${article.id}.${article.version}`,
    lastModified: ({ params: { article } }: FastifyRequest<Of>) => article.changedAt
  }
} as const satisfies FastifyContextConfig

type Of = { Params: { article: ConvertedParams<{ params: { article: 'article' } }>['article'] } }

/** The same articles for programs; who may write is said in `accessControl`, ahead of all routes. */
export default async function api (app: FastifyInstance): Promise<void> {
  const { articles, mails } = app

  app.get('', {
    schema: { response: { 200: { type: 'array', items: schema } } },
    config: { name: 'api_article_list', pagination: { limit: 10, maxLimit: 50, sort: ['date', 'title'], defaultSort: 'date', direction: 'desc' } }
  }, async (request) => {
    request.paginate(articles.count())
    return articles.list(request.pagination!)
  })

  app.get<Of>('/:article', { schema: { response: { 200: schema } }, config: { name: 'api_article', ...one } },
    async ({ params }) => params.article)

  app.post<{ Body: Draft }>('', {
    schema: { body: draft, response: { 201: schema } },
    config: { name: 'api_article_create' }
  }, async (request, reply) => {
    const article = await articles.create(request.body, (request.user as User).identifier, request.locale)
    request.log.info({ article: article.id }, 'Article created')
    mails.add({ to: 'readers', subject: article.title }, request.hindsight.token)
    return await reply.code(201).header('location', `${autoPrefix}/${article.id}`).send(article)
  })

  app.put<Of & { Body: Draft }>('/:article', {
    schema: { body: draft, response: { 200: schema } },
    config: { name: 'api_article_change', ...one, isGranted: { attribute: 'EDIT', subject: 'article' } }
  }, async ({ params, body }) => await articles.change(params.article, body))

  app.delete<Of>('/:article', {
    config: { name: 'api_article_delete', ...one, isGranted: { attribute: 'DELETE', subject: 'article' } }
  }, async ({ params }, reply) => {
    await articles.remove(params.article)
    return await reply.code(204).send()
  })
}
