import createError from '@fastify/error'
import type { FastifyInstance } from 'fastify'
import type { AssetPair, HashedAsset } from '../../lib/profiler/pages/hashed-asset.js'
import { routeConfig } from './answer.js'

const NOT_FOUND = 'Asset "%s" was not found: load the page again.'
const AssetNotFoundError = createError('HINDSIGHT_ASSET_NOT_FOUND', NOT_FOUND, 404)

/** The stylesheets and scripts of the toolbar and of the profiler's pages. */
export default async function assetRoutes (app: FastifyInstance): Promise<void> {
  app.get('/assets/:name', { config: routeConfig(app, '_profiler_asset') }, async function sendAsset (request, reply) {
    const { name } = request.params as { name: string }
    const asset = await findAsset(name)
    if (asset === undefined) throw new AssetNotFoundError(name)
    return reply
      // Private: a shared cache would serve it to clients that may not see the profiler.
      .header('cache-control', 'private, max-age=31536000, immutable')
      .header('x-content-type-options', 'nosniff')
      .type(asset.type)
      .send(asset.content)
  })
}

// The assets of the pages load all panels; a page with the toolbar does not need them.
async function findAsset (name: string): Promise<HashedAsset | undefined> {
  const { toolbarAssets } = await import('../../lib/profiler/pages/toolbar/component.js')
  const find = (pair: AssetPair): HashedAsset | undefined => Object.values(pair).find((asset) => asset.name === name)
  return find(toolbarAssets) ?? find((await import('../../lib/profiler/pages/assets.js')).assets)
}
