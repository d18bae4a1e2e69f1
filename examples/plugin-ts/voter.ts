import type { Voter } from 'fastify-hindsight/full'
import type { Order } from './orders.js'

/** People see their own orders. */
export const ownOrder: Voter = {
  name: 'own-order',
  supports: (attribute) => attribute === 'VIEW',
  vote: (_attribute, order, { user }) => {
    const { owner } = order as Order
    return { granted: owner === user?.identifier, reason: `the order is that of ${owner}` }
  }
}
