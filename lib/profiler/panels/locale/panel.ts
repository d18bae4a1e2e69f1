import { failed, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf, isObject } from '../panel.js'
import type { Panel } from '../panel.js'

const SOURCES: Readonly<Record<string, string>> = { default: 'the default', route: 'the parameter _locale of the route', 'accept-language': 'Accept-Language' }

/** Which locale the request had, and what decided it. */
export const localePanel: Panel = {
  name: 'locale',
  label: 'Locale',
  group: 'handling',
  problem: profile => failureOf(profile, 'locale') !== undefined,
  render: profile => {
    const failure = failureOf(profile, 'locale')
    if (failure !== undefined) return failed(failure)
    const { locale, source, default: fallback, enabled, acceptLanguage, services } = dataOf(profile, 'locale')
    const { enabled: read, header } = isObject(acceptLanguage) ? acceptLanguage : {}
    return section('Locale', pairs('Locale', {
      locale,
      'decided by': SOURCES[String(source)] ?? source,
      default: fallback,
      'enabled locales': Array.isArray(enabled) && enabled.length === 0 ? 'any' : enabled,
      'Accept-Language': `${typeof header === 'string' ? header : 'not sent'}${read === true ? '' : ' (not read)'}`,
      services
    }))
  }
}
