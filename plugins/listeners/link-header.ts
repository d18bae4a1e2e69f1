import { listener } from '../kernel/listener.js'

/** The link-header listener of `kernel.response`: nothing configures it yet. */
export const linkHeader = listener('kernel.response', 'link-header', () => 'not configured')
