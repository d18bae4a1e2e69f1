import createError from '@fastify/error'
import type { FastifyInstance } from 'fastify'
import { routeConfig } from './answer.js'

const NOT_FOUND = 'Asset "%s" was not found: load the page again.'
const AssetNotFoundError = createError('HINDSIGHT_ASSET_NOT_FOUND', NOT_FOUND, 404)

/** The stylesheets and scripts of the toolbar and of the profiler's pages. */
export default async function assetRoutes (app: FastifyInstance): Promise<void> {
  app.get('/assets/:name', { config: routeConfig(app, '_profiler_asset') }, async function sendAsset (request, reply) {
    const { name } = request.params as { name: string }
    const { findAsset } = await import('../../lib/profiler/pages/assets.js')
    const asset = findAsset(name)
    if (asset === undefined) throw new AssetNotFoundError(name)
    return reply
      // Private: a shared cache would serve it to clients that may not see the profiler.
      .header('cache-control', 'private, max-age=31536000, immutable')
      .header('x-content-type-options', 'nosniff')
      .type(asset.type)
      .send(asset.content)
  })
}
