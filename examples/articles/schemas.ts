/** What may be written, by a form or by the API. */
export const draft = {
  type: 'object',
  required: ['title', 'body'],
  properties: {
    title: { type: 'string', maxLength: 120, pattern: '\\S' },
    body: { type: 'string', maxLength: 5000, pattern: '\\S' }
  }
} as const

/** An article as the API gives it. */
export const article = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    locale: { type: 'string' },
    author: { type: 'string' },
    title: { type: 'string' },
    body: { type: 'string' },
    createdAt: { type: 'string', format: 'date-time' },
    changedAt: { type: 'string', format: 'date-time' }
  }
} as const
