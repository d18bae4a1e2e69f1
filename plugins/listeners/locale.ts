import { listener } from '../kernel/listener.js'

/** The locale listener of `kernel.request`: nothing configures it yet. */
export const locale = listener('kernel.request', 'locale', () => 'not configured')

/** The locale listener of `kernel.finish_request`: nothing configures it yet. */
export const localeFinish = listener('kernel.finish_request', 'locale', () => 'not configured')
