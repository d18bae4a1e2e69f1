import formbody from '@fastify/formbody'
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { checkCsrfToken, csrfToken } from '../../../lib/security/login-session.js'
import type { User } from '../../../lib/security/users.js'
import { layoutVariables } from '../layout.js'
import { draft } from '../schemas.js'
import type { Article, Draft } from '../store.js'

type Of = { Params: { article: Article } }
type Form = { Body: Draft & { _csrf_token?: string } }

const params = { article: 'article' } as const
const links = [{ rel: 'preload', href: '/style.css', attributes: { as: 'style' } }] as const
const ofList = {
  name: 'article_list',
  template: 'list',
  links,
  pagination: { limit: 6, maxLimit: 30, sort: ['date', 'title'], defaultSort: 'date', direction: 'desc' }
} satisfies FastifyContextConfig
const ofOne = {
  name: 'article',
  template: 'article',
  links,
  params,
  cache: {
    public: true,
    maxAge: 0, // browsers ask each time, shared caches once a minute
    sMaxAge: '1 minute',
    vary: ['Cookie'],
    // The page of somebody who is logged in has tokens of their session in it: it is made anew each time.
    etag: ({ params: { article }, user }: FastifyRequest<Of>) => user === null ? `${article.id}.${article.version}` : null,
    lastModified: ({ params: { article }, user }: FastifyRequest<Of>) => user === null ? article.changedAt : null
  }
} satisfies FastifyContextConfig
// In debug mode, and in tests, a request with more queries fails: see docs/how-to/query-budget.md.
const ofContents = { name: 'contents', template: 'contents', links, hindsight: { maxQueries: 1 } }
const ofSlowContents = { name: 'contents_slow', template: 'contents', links }
const toWrite = { name: 'article_new', template: 'form', isGranted: 'ROLE_AUTHOR' }
const toEdit = { name: 'article_edit', template: 'form', params, isGranted: { attribute: 'EDIT', subject: 'article' } }
const toDelete = { name: 'article_delete', params, isGranted: { attribute: 'DELETE', subject: 'article' } }

/** The pages of the articles. */
export default async function pages (app: FastifyInstance): Promise<void> {
  const { articles } = app
  await app.register(formbody)
  app.addHook('preHandler', layoutVariables)
  // A form that does not pass the schema is shown again, not refused.
  const posted = { schema: { body: draft }, attachValidation: true, preHandler: checkForm }

  app.get('/:_locale/articles', { config: ofList }, async (request) => {
    const { words: { pages: label, previous, next } } = request.services
    const page = request.paginate(articles.count())
    return { articles: articles.list(page), page, pages: page.html(5, { label, previous, next }) }
  })

  app.get('/:_locale/contents', { config: ofContents }, async () => ({ articles: articles.all(), isSlow: false }))

  // Slow on purpose, with a query for each article: look at its profile, and at that of the route above.
  app.get('/:_locale/contents/slow', { config: ofSlowContents }, async () =>
    ({ articles: articles.ids().map((id) => articles.find(id)), isSlow: true }))

  app.get<Of>('/:_locale/articles/:article', { config: ofOne }, async (request) => {
    const { article } = request.params
    const mayEdit = await request.isGranted('EDIT', article)
    return { article, mayEdit, token: mayEdit ? tokenFor(request) : '' }
  })

  app.get('/:_locale/articles/new', { config: toWrite }, async (request) =>
    ({ heading: 'write', draft: { title: '', body: '' }, errors: [], token: tokenFor(request) }))

  app.post<Form>('/:_locale/articles/new', { ...posted, config: toWrite }, async (request, reply) => {
    if (request.validationError) return shownAgain(request, reply, 'write')
    const article = await articles.create(request.body, (request.user as User).identifier, request.locale)
    request.log.info({ article: article.id }, 'Article created')
    app.mails.add({ to: 'readers', subject: article.title }, request.hindsight.token)
    return await reply.redirect(pathOf(request, article), 303)
  })

  app.get<Of>('/:_locale/articles/:article/edit', { config: toEdit }, async (request) =>
    ({ heading: 'editArticle', draft: request.params.article, errors: [], token: tokenFor(request) }))

  app.post<Of & Form>('/:_locale/articles/:article/edit', { ...posted, config: toEdit }, async (request, reply) => {
    if (request.validationError) return shownAgain(request, reply, 'editArticle')
    const article = await articles.change(request.params.article, request.body)
    return await reply.redirect(pathOf(request, article), 303)
  })

  app.post<Of & Form>('/:_locale/articles/:article/delete', { preHandler: checkForm, config: toDelete }, async (request, reply) => {
    await articles.remove(request.params.article)
    return await reply.redirect(`/${request.locale}/articles`, 303)
  })
}

// Forms that change something bring a token of the session.
function tokenFor (request: FastifyRequest): string {
  return csrfToken(request, 'article')
}

async function checkForm (request: FastifyRequest): Promise<void> {
  checkCsrfToken(request, 'article', (request.body as Partial<Form['Body']> | undefined)?._csrf_token)
}

function shownAgain (request: FastifyRequest, reply: FastifyReply, heading: string): object {
  const { validationError, body } = request
  reply.code(422)
  const found = validationError?.validation as FastifySchemaValidationError[]
  const errors = found.map(({ instancePath, params }) => instancePath.slice(1) || params.missingProperty)
  return { heading, draft: body, errors, token: tokenFor(request) }
}

function pathOf ({ locale }: FastifyRequest, { id }: Article): string {
  return `/${locale}/articles/${id}`
}
