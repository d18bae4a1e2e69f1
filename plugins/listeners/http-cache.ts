import { listener } from '../kernel/listener.js'

/** The http-cache listener of `kernel.controller`: nothing configures it yet. */
export const httpCache = listener('kernel.controller', 'http-cache', () => 'not configured')

/** The http-cache listener of `kernel.response`: nothing configures it yet. */
export const httpCacheResponse = listener('kernel.response', 'http-cache', () => 'not configured')
