import { defineListener, setOnDocument } from '../lib/listener.js'

/** Sets `X-Content-Type-Options`, so that browsers do not guess another type (Fetch, section 3.6). */
export const contentType = defineListener('kernel.response', 'content-type', () => (_request, reply) =>
  setOnDocument(reply, 'x-content-type-options', 'nosniff'))
