import { listener } from '../kernel/listener.js'

/** The is-granted listener of `kernel.controller_arguments`: nothing configures it yet. */
export const isGranted = listener('kernel.controller_arguments', 'is-granted', () => 'not configured')
