import { listener } from '../kernel/listener.js'

/** The pagination listener of `kernel.request`: nothing configures it yet. */
export const pagination = listener('kernel.request', 'pagination', () => 'not configured')
