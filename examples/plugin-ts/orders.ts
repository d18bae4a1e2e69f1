export interface Order {
  id: string
  owner: string
  total: number
}

declare module 'fastify' {
  interface FastifyParamConverters {
    order: Order
  }
}

const ORDERS: Readonly<Record<string, Order>> = {
  1: { id: '1', owner: 'ada', total: 12.5 },
  2: { id: '2', owner: 'grace', total: 99 }
}

/** Turns the path parameter into the order; where there is none, the answer is 404. */
export function findOrder (id: string): Order | undefined {
  return Object.hasOwn(ORDERS, id) ? ORDERS[id] : undefined
}
