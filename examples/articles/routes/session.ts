import type { FastifyInstance } from 'fastify'
import { layoutVariables } from '../layout.js'

/** The page of the login; checking it, and the logout, are routes of the firewall. */
export default async function session (app: FastifyInstance): Promise<void> {
  // The firewall sends everybody here, whatever language they were reading in.
  app.get('/login', { config: { name: 'login' } }, async (request, reply) =>
    reply.redirect(`/${request.session.locale ?? request.locale}/login`))

  app.get('/:_locale/login', { preHandler: layoutVariables, config: { name: 'login_form', template: 'login' } }, async (request, reply) => {
    if (request.user !== null) return await reply.redirect('/')
    request.session.locale = request.locale
    return { form: request.loginForm() }
  })
}
