import { listener } from '../kernel/listener.js'

/** The asset-reset listener of `kernel.finish_request`: nothing configures it yet. */
export const assetReset = listener('kernel.finish_request', 'asset-reset', () => 'not configured')
