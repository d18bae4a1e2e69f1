import type { OptionSchemas } from '../../src/check-options.js'
import { PROCESS_OPTIONS, SERVER_OPTIONS, SERVICE_OPTIONS } from '../../../../lib/check-options.js'

/** The variables of the service, beside those of Node.js and of its libraries. */
export const environmentNames: readonly string[] = [PROCESS_OPTIONS, SERVICE_OPTIONS, SERVER_OPTIONS].flatMap(namesIn)

function namesIn (schemas: OptionSchemas): string[] {
  return Object.values(schemas).flatMap(({ env, properties = {} }) => [env ?? [], namesIn(properties)].flat())
}
