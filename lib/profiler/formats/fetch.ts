import { bodyPieces, headerPieces, merged, targetPieces } from '../resend/pieces.js'
import type { StoredRequest } from '../resend/stored-request.js'
import { headOf, type Format } from './format.js'
import { jsString, jsText, jsValue, maskedFunction } from './js-text.js'

/** A module for Node.js. */
export const fetchFormat: Format = {
  name: 'fetch',
  label: 'fetch',
  file: (token) => `hindsight-${token}.mjs`,
  type: 'text/plain; charset=utf-8',
  write: (request, profile) => {
    const { method, origin, host, gaps } = request
    const headers = [...host === null || host === origin.replace(/^https?:\/\//i, '') ? [] : [['host', [host]] as const], ...headerPieces(request)]
    const body = bodyPieces(request)
    const hasNoBody = method === 'GET' || method === 'HEAD'
    return [
      ...headOf(request, profile).map((line) => `// ${line}`),
      ...hasNoBody && body !== null ? ['// The body is left out: fetch sends none with GET and HEAD.'] : [],
      ...method === 'TRACE' || method === 'CONNECT' ? [`// fetch refuses the method ${method}.`] : [],
      ...maskedFunction(gaps),
      '',
      `const response = await fetch(${jsText(merged([origin, ...targetPieces(request)]))}, {`,
      `  method: ${jsString(method)},`,
      // Pairs, so that a name may come twice.
      ...headers.length === 0 ? [] : ['  headers: [', headers.map(([name, value]) => `    [${jsString(name)}, ${jsText(value)}]`).join(',\n'), '  ],'],
      ...hasNoBody || body === null ? [] : [`  body: ${bodyExpression(request, '  ')},`],
      "  redirect: 'manual'",
      '})',
      'console.log(response.status, await response.text())',
      ''
    ].join('\n')
  }
}

/** The body as an expression. */
export function bodyExpression (request: StoredRequest, indent: string): string {
  const { body } = request
  return body?.kind === 'json' ? `JSON.stringify(${jsValue(body.value, indent)})` : jsText(bodyPieces(request) ?? [])
}
