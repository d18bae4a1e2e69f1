import { join } from 'node:path'
import view from '@fastify/view'
import { Eta } from 'eta'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import application from '../../app/app.js'
import type { ServiceOptions } from '../../lib/options.js'
import { MailQueue, type Send } from './mails.js'
import { settings } from './settings.js'
import { ArticleStore } from './store.js'

export interface ArticlesOptions {
  /** What the environment says: debug mode, the session's secret, trusted proxies. */
  service: ServiceOptions
  /** Where the articles are kept; without one they are gone with the process. */
  directory?: string | undefined
  /** What sends the mails about new articles; by default a line in the log. */
  sendMail?: Send
}

/** The example: a store, a template engine, and the lifecycle with the routes of `routes/`. */
export default fp(async function articles (app: FastifyInstance, options: ArticlesOptions) {
  const { service, directory, sendMail = async (mail) => { app.log.info({ mail }, 'Mail sent') } } = options
  const store = await ArticleStore.open(directory)
  app.decorate('articles', store)
  const mails = new MailQueue(app, sendMail)
  app.decorate('mails', mails)
  app.addHook('onClose', async () => {
    await mails.drain()
    await store.close()
  })
  await app.register(view, { engine: { eta: new Eta() }, root: join(import.meta.dirname, 'views'), viewExt: 'eta' })
  await app.register(application, {
    service: { ...service, ...settings(store) },
    routesDir: join(import.meta.dirname, 'routes')
  })
}, { fastify: '5.x', name: 'articles' })
