import type { FastifyRequest } from 'fastify'
import { afterBody, traceOf } from 'fastify-hindsight/recorder'
import { stateOf } from '../lib/state.js'
import { assets as assetsPart } from '../lib/parts/listeners.js'
import { defineListener, Skip } from '../lib/listener.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the response uses a file of the front end for the first time, so that its tag is to be written. */
    useAsset (url: string): boolean
  }
}

const unused = new Skip('the response uses no asset')

/** Releases the list of the assets that the response uses. */
export const assetReset = defineListener('kernel.finish_request', 'asset-reset', (app) => {
  app.decorateRequest('useAsset', function (this: FastifyRequest, url: string) {
    const assets = stateOf(this).assets ??= new Set()
    const isFirst = !assets.has(url)
    assets.add(url)
    return isFirst
  })
  if (app.hindsight.recorder === null) return 'the list ends with its request'
  return (request, reply, payload) => {
    const state = stateOf(request)
    const { assets } = state
    if (assets === undefined) return unused
    state.trace.collect(assetsPart, () => traceOf(request).services.mask.value({ files: [...assets] }))
    afterBody(reply, payload, () => { state.assets = undefined })
  }
})
