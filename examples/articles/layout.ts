import type { FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyReply {
    /** What every template sees beside the object of its handler; @fastify/view reads it. */
    locals?: object
  }
}

/** A preHandler that gives every page what its frame needs. */
export async function layoutVariables (request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { locale, services, user } = request
  reply.locals = {
    ...reply.locals,
    locale,
    user,
    words: services.words,
    date: (date: Date) => services.dates.format(date),
    nonce: reply.cspNonce, // drawn when a template reads one
    mayWrite: await request.isGranted('ROLE_AUTHOR'),
    logout: user === null ? null : request.logoutPath(),
    inLanguage: (other: string) => request.url.replace(`/${locale}/`, `/${other}/`)
  }
}
