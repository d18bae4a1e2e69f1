import { listener } from '../kernel/listener.js'

/** The param-converter listener of `kernel.controller`: nothing configures it yet. */
export const paramConverter = listener('kernel.controller', 'param-converter', () => 'not configured')
