import { fieldsPart } from '../read.js'

/** Whether the page of another origin may read the response, and by which rule. */
export const cors = fieldsPart('cors', 'CORS', 'hooks', 'Decision', {
  from: 'request',
  panel: { problem: ({ allowed }) => allowed === false }
})
