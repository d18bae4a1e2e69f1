import { require } from '../require.js'

/**
 * What Hindsight uses of `node:http` at run time. An `import` of it reads all its exports, and one of them loads
 * undici, which takes 15 ms of the start of an application on Node.js 24.
 */
export const { METHODS, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  require('node:http') as typeof import('node:http')
