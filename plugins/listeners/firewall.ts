import { listener } from '../kernel/listener.js'

/** The firewall listener of `kernel.request`: nothing configures it yet. */
export const firewall = listener('kernel.request', 'firewall', () => 'not configured')

/** The firewall listener of `kernel.finish_request`: nothing configures it yet. */
export const firewallFinish = listener('kernel.finish_request', 'firewall', () => 'not configured')
