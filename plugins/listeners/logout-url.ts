import { listener } from '../kernel/listener.js'

/** The logout-url listener of `kernel.request`: nothing configures it yet. */
export const logoutUrl = listener('kernel.request', 'logout-url', () => 'not configured')
