import type { FastifyReply, FastifyRequest } from 'fastify'
import { Manifest } from '../lib/assets/manifest.js'
import { noncesOf } from '../lib/http/content-policy.js'
import { afterBody } from '../lib/http/responses.js'
import { listener, ownHook, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The URL of a built file, by its name in the manifest (`src/logo.svg`). */
    asset (name: string): string
    /** The `<link>` and `<script>` tags of an entry, without those that this response has already. */
    assetTags (entry: string): string
  }
}

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** The tags of front-end assets that the response has already. */
    assets?: Set<string> | undefined
  }
}

const unused = new Skip('the response refers to no asset')

/** Releases the list of tags that the response has. */
export const assetReset = listener('kernel.finish_request', 'asset-reset', (
  app, { assets: settings, contentSecurityPolicy }
) => {
  const manifest = settings === undefined ? null : new Manifest(settings)
  const hasNonces = settings?.nonce ?? contentSecurityPolicy !== false

  function configured (): Manifest {
    if (manifest !== null) return manifest
    throw new Error('There are no assets: set the option assets.manifest to the path of a Vite manifest')
  }
  const helpers: Record<string, (this: FastifyRequest, name: string) => string> = {
    asset (name) { return configured().url(name) },
    assetTags (entry) {
      const state = stateOf(this)
      state.assets ??= new Set()
      return configured().tags(entry, hasNonces ? noncesOf(state) : null, state.assets)
    }
  }
  for (const [name, helper] of Object.entries(helpers)) app.decorateRequest(name, helper)
  if (manifest === null) return 'not configured'

  // @fastify/view gives `reply.locals` to every template.
  app.addHook('preHandler', ownHook(function addToLocals (
    request, reply: FastifyReply & { locals?: object | null }, done
  ) {
    const { locals } = reply
    if (typeof locals === 'object' && locals !== null) {
      for (const [name, helper] of Object.entries(helpers)) Object.assign(locals, { [name]: helper.bind(request) })
    }
    done()
  }))
  return (request, reply, payload) => {
    const state = stateOf(request)
    const { assets } = state
    if (assets === undefined || assets.size === 0) return unused
    state.collect('assets', () => ({ manifest: manifest.path, base: manifest.base, rendered: [...assets] }))
    afterBody(reply, payload, () => { state.assets = undefined })
  }
})
