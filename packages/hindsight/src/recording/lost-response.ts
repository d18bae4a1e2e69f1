import { withStackLimit } from '../call.js'
import { isSentByFastify } from '../errors/declared-place.js'
import { splitStack } from '../errors/stack-frame.js'
import { textOfStack } from '../errors/thrown-value.js'
import { httpError } from '../http/http-errors.js'
import type { LostResponse } from './sending.js'

class LostResponseError extends httpError('LostResponseError', 'HINDSIGHT_LOST_RESPONSE', 500) {}

/** The error about a response that the client did not receive, with the calls that sent it. */
export function lostResponse ({ what, from, second, isEmpty }: LostResponse): Error {
  const received = isEmpty ? 'The client received an empty response' : 'The client received the second of two responses'
  const isReturned = isSentByFastify(second)
  let why = 'it was called again'
  if (isReturned) why = isEmpty ? 'the handler returned undefined' : 'the handler returned another payload'
  else if (isEmpty) why += ' without a payload'
  const advice = isReturned ? '. Return the reply' : ''
  const message = `${received}: reply.send() was called with ${what}, and ${why} before that was sent${advice}`
  const error = withStackLimit(0, () => new LostResponseError(message))
  if (from !== undefined) error.stack += `\n${splitStack(textOfStack(from), '').frames}`
  return error
}
