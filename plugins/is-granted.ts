import type { FastifyRequest } from 'fastify'
import { defineListener } from '../lib/listener.js'
import type { IsGrantedAttribute } from '../lib/attributes.js'
import { paramsOf } from '../lib/param-conversion.js'
import { routeCheck } from '../lib/security/route-check.js'

/** Refuses requests to which the voters do not grant what the route requires. */
export const isGranted = defineListener('kernel.controller_arguments', 'is-granted', (app) =>
  routeCheck(app, 'isGranted', () => (declared, url) => {
    const required = [declared].flat().map((one: IsGrantedAttribute) => {
      if (typeof one === 'string') return { attribute: one, subjectOf: () => undefined }
      return { attribute: one.attribute, subjectOf: subjectReader(one.subject, url) }
    })
    if (required.length === 0) throw new Error('the list is empty')
    return async (context) => {
      for (const { attribute, subjectOf } of required) {
        if (!await context.isGranted(attribute, subjectOf(context.request), 'is-granted')) return false
      }
      return true
    }
  }))

/** Returns the function that reads the subject; throws for the name of a parameter that the route does not have. */
function subjectReader (
  subject: string | ((request: FastifyRequest) => unknown) | undefined, url: string
): (request: FastifyRequest) => unknown {
  if (typeof subject !== 'string') return subject ?? (() => undefined)
  if (!paramsOf(url).includes(subject)) throw new Error(`the subject "${subject}" is not a parameter of the route`)
  return ({ params }) => (params as Record<string, unknown>)[subject]
}
