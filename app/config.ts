import type { ServiceOptions } from '../lib/options.js'

/**
 * What a user of the service sets beside environment variables: rules of CORS, firewalls, locales, templates, and the
 * other options of `docs/reference/options.md`. Everything is off. An option here takes precedence over its variable.
 */
export const config: ServiceOptions = {
}
