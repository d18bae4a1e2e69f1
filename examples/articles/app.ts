import { join } from 'node:path'
import view from '@fastify/view'
import { Eta } from 'eta'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import application from '../../app/app.js'
import type { ServiceOptions } from '../../lib/options.js'
import { settings } from './settings.js'
import { ArticleStore } from './store.js'

export interface ArticlesOptions {
  /** What the environment says: debug mode, the session's secret, trusted proxies. */
  service: ServiceOptions
  /** Where the articles are kept; without one they are gone with the process. */
  directory?: string | undefined
}

/** The example: a store, a template engine, and the lifecycle with the routes of `routes/`. */
export default fp(async function articles (app: FastifyInstance, { service, directory }: ArticlesOptions) {
  const store = await ArticleStore.open(directory)
  app.decorate('articles', store)
  app.addHook('onClose', () => store.close())
  await app.register(view, { engine: { eta: new Eta() }, root: join(import.meta.dirname, 'views'), viewExt: 'eta' })
  await app.register(application, {
    service: { ...service, ...settings(store) },
    routesDir: join(import.meta.dirname, 'routes')
  })
}, { fastify: '5.x', name: 'articles' })
