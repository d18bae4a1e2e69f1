import { failed, rows, section } from '../../pages/components.js'
import { dataOf, failureOf, isObject } from '../panel.js'
import type { Data, Panel } from '../panel.js'

const COLUMNS = { name: 'Parameter', sent: 'As it was sent', converter: 'Converter', value: 'What the handler got' }

/** What the converters made of the path parameters. */
export const paramsPanel: Panel = {
  name: 'params',
  label: 'Parameters',
  group: 'handling',
  count: (profile) => Object.keys(dataOf(profile, 'params')).length,
  problem: (profile) => failureOf(profile, 'params') !== undefined || conversionsOf(dataOf(profile, 'params')).some(isUnmade),
  render: (profile) => {
    const failure = failureOf(profile, 'params')
    if (failure !== undefined) return failed(failure)
    const conversions = conversionsOf(dataOf(profile, 'params'))
      .map((conversion) => isUnmade(conversion) ? { ...conversion, value: 'nothing: it could not be converted, or one ahead of it could not' } : conversion)
    return section('Conversions', rows('Conversions', COLUMNS, conversions, 'The route converts none.'))
  }
}

function conversionsOf (data: Data): Data[] {
  return Object.entries(data).filter(([, value]) => isObject(value)).map(([name, value]) => ({ name, ...value as Data }))
}

function isUnmade (conversion: Data): boolean {
  return conversion.value === undefined && conversion.sent !== null && conversion.sent !== undefined
}
