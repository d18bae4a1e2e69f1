import createError from '@fastify/error'
import type { FastifyInstance } from 'fastify'
import { routeConfig } from './answer.js'

const AssetNotFoundError = createError('HINDSIGHT_ASSET_NOT_FOUND', 'Asset "%s" was not found: load the page again.', 404)

/** The style and the script that the pages share: their names change with them, so that they may be kept for ever. */
export default async function assetRoutes (app: FastifyInstance): Promise<void> {
  app.get('/assets/:name', { config: routeConfig(app, '_profiler_asset') }, async function sendAsset (request, reply) {
    const { name } = request.params as { name: string }
    const { assets } = await import('../../plugins/profiler/ui/assets.js')
    const asset = Object.values(assets).find((one) => one.name === name)
    if (asset === undefined) throw new AssetNotFoundError(name)
    // Shared caches would hand it to those who may not see the profiler.
    return reply.header('cache-control', 'private, max-age=31536000, immutable').type(asset.type).send(asset.content)
  })
}
