/** The five stages of a pass, in order (section 6 of the observed document). */
export const STAGES = [
  'kernel.request',
  'kernel.controller',
  'kernel.controller_arguments',
  'kernel.response',
  'kernel.finish_request'
] as const

export type Stage = typeof STAGES[number]

/** The Fastify hook that each stage sits on. */
export const HOOK_OF_STAGE = {
  'kernel.request': 'onRequest',
  'kernel.controller': 'preHandler',
  'kernel.controller_arguments': 'preHandler',
  'kernel.response': 'onSend',
  'kernel.finish_request': 'onSend'
} as const satisfies Record<Stage, 'onRequest' | 'preHandler' | 'onSend'>
