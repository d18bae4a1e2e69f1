import fastifyHelmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import { caughtHooks } from '../lifecycle/hosting.js'

const NONE = {
  contentSecurityPolicy: false,
  crossOriginEmbedderPolicy: false,
  crossOriginOpenerPolicy: false,
  crossOriginResourcePolicy: false,
  originAgentCluster: false,
  referrerPolicy: false,
  strictTransportSecurity: false,
  xContentTypeOptions: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xFrameOptions: false,
  xPermittedCrossDomainPolicies: false,
  xPoweredBy: false,
  xXssProtection: false
}

/**
 * Asks @fastify/helmet, once and at registration, for the value of a header: it knows the grammar and refuses what is none.
 * Rejects with the option's name.
 */
export async function helmetHeader (app: FastifyInstance, option: string, value: unknown, header: string): Promise<string> {
  let found = ''
  const response = { setHeader: (name: string, text: string) => { if (name.toLowerCase() === header) found = text }, removeHeader: () => {} }
  try {
    const hooks = await caughtHooks(app, fastifyHelmet as never, { ...NONE, [option]: value })
    for (const hook of hooks.get('onRequest') ?? []) {
      await hook({ routeOptions: { config: {} }, raw: {} }, { raw: response }, () => {})
    }
  } catch (error) {
    throw new Error(`${option}: ${(error as Error).message}`, { cause: error })
  }
  if (found === '') throw new Error(`${option}: ${JSON.stringify(value)} gives no ${header} header`)
  return found
}
