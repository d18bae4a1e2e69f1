import { html, type Collector } from 'fastify-hindsight'

/** Shows in the profile which orders a request has looked at. */
export const looked: Collector = {
  name: 'looked',
  collect: (request) => ({ tenant: request.tenant, orders: request.looked }),
  panel: {
    label: 'Orders',
    count: (data) => (data as Looked).orders?.length,
    render: (data) => html`<p>Of the tenant ${(data as Looked).tenant}:</p><ul>!${((data as Looked).orders ?? []).map((id) => html`<li>${id}</li>`)}</ul>`
  }
}

// What a request that was refused early has left behind lacks both.
interface Looked {
  tenant?: string
  orders?: string[]
}
