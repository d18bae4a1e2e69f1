import { html, type Collector } from 'fastify-hindsight'

/** What the panel shows. A request that another hook answered early has neither. */
interface Looked {
  tenant: string | null
  orders: string[]
}

/** Shows in the profile which orders a request has looked at. */
export const looked: Collector<Looked> = {
  name: 'looked',
  collect: ({ tenant = null, looked: orders = [] }) => ({ tenant, orders }),
  panel: {
    label: 'Orders',
    count: ({ orders }) => orders.length,
    render: ({ tenant, orders }) => html`<p>Of the tenant ${tenant}:</p><ul>${orders.map((id) => html`<li>${id}</li>`)}</ul>`
  }
}
