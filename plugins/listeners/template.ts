import { listener } from '../kernel/listener.js'

/** The template listener of `kernel.controller`: nothing configures it yet. */
export const template = listener('kernel.controller', 'template', () => 'not configured')
