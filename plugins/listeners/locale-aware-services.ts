import { listener } from '../kernel/listener.js'

/** The locale-aware-services listener of `kernel.request`: nothing configures it yet. */
export const localeAwareServices = listener('kernel.request', 'locale-aware-services', () => 'not configured')

/** The locale-aware-services listener of `kernel.finish_request`: nothing configures it yet. */
export const localeAwareServicesFinish = listener('kernel.finish_request', 'locale-aware-services', () => 'not configured')
