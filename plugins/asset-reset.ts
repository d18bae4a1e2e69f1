import type { FastifyReply, FastifyRequest } from 'fastify'
import { Manifest, type AssetSettings } from '../lib/assets/manifest.js'
import { PageAssets, type AssetTagsOptions } from '../lib/assets/page-assets.js'
import { noncesOf } from '../lib/http/content-policy.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { afterBody } from '../lib/http/responses.js'
import { ownHook } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'

export interface AssetOptions {
  /** The front-end build whose files pages refer to by the names of their sources. */
  assets?: AssetSettings
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The URL of a built file, by its name in the manifest (`src/logo.svg`). */
    asset (name: string): string
    /** The `<link>` and `<script>` tags of an entry; those that this response has already are left out. */
    assetTags (entry: string, options?: AssetTagsOptions): string
    /** The tags that fetch an asset ahead of its use; those that this response has already are left out. */
    preload (name: string): string
  }
}

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** The tags of front-end assets that the response has already. */
    assets?: Set<string> | undefined
  }
}

const unused = new Skip('the response refers to no asset')

/** Drops the list of tags that the response has, behind which the next one starts afresh. */
export const assetReset = listener('kernel.finish_request', 'asset-reset', (app, options: AssetOptions & { contentSecurityPolicy?: false | object }) => {
  const { assets: settings, contentSecurityPolicy } = options
  const manifest = settings === undefined ? null : new Manifest(settings)
  const withNonces = settings?.nonce ?? contentSecurityPolicy !== false

  function given (): Manifest {
    if (manifest === null) throw new Error('There are no assets: set the option assets.manifest to the path of a Vite manifest')
    return manifest
  }
  function pageOf (request: FastifyRequest): PageAssets {
    const state = stateOf(request)
    return new PageAssets(given(), withNonces ? noncesOf(state) : null, (state.assets ??= new Set()))
  }
  const asset = (name: string): string => given().url(given().chunk(name).file)
  app.decorateRequest('asset', asset)
  app.decorateRequest('assetTags', function (this: FastifyRequest, entry: string, how?: AssetTagsOptions) { return pageOf(this).tags(entry, how) })
  app.decorateRequest('preload', function (this: FastifyRequest, name: string) { return pageOf(this).preload(name) })
  if (manifest === null) return 'not configured'

  // @fastify/view hands `reply.locals` to every template.
  app.addHook('preHandler', ownHook(function giveToTemplates (request, reply: FastifyReply & { locals?: object | null }, done) {
    if (typeof reply.locals === 'object' && reply.locals !== null) {
      Object.assign(reply.locals, {
        asset,
        assetTags: (entry: string, how?: AssetTagsOptions) => pageOf(request).tags(entry, how),
        preload: (name: string) => pageOf(request).preload(name)
      })
    }
    done()
  }))
  return (request, reply, payload) => {
    const state = stateOf(request)
    const { assets } = state
    if (assets === undefined) return unused
    if (state.observed) {
      state.collect('assets', () => ({ manifest: manifest.path, base: manifest.base, rendered: [...assets] }))
    }
    afterBody(reply, payload, () => { state.assets = undefined })
  }
})
