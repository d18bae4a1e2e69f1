import { listener } from '../kernel/listener.js'

/** The controller-attributes listener of `kernel.controller`: nothing configures it yet. */
export const controllerAttributes = listener('kernel.controller', 'controller-attributes', () => 'not configured')
