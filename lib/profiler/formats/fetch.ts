import type { Format } from './formats.js'
import { jsBody, jsString, jsText, maskedFunction } from './source-text.js'

/** A module for Node.js. */
export const fetchFormat: Format = {
  name: 'fetch',
  label: 'fetch',
  extension: '.mjs',
  type: 'text/plain; charset=utf-8',
  write: ({ request, message: { method, target, body }, headers, head }) => {
    const { origin, gaps } = request
    const isImplied = origin.replace(/^https?:\/\//i, '') === request.host
    const pairs = headers.filter(([name]) => name !== 'host' || !isImplied)
    const fields = pairs.map(([name, value]) => `    [${jsString(name)}, ${jsText(value, request)}]`)
    const mayHaveBody = method !== 'GET' && method !== 'HEAD'
    const comments = [
      ...head,
      ...body === null || mayHaveBody ? [] : ['The body is left out: fetch sends none with GET and HEAD.'],
      ...method === 'TRACE' || method === 'CONNECT' ? [`fetch refuses the method ${method}.`] : []
    ]
    return [
      ...comments.map((line) => `// ${line}`),
      ...maskedFunction(gaps),
      '',
      `const response = await fetch(${jsText(origin + target, request, true)}, {`,
      `  method: ${jsString(method)},`,
      // A list of pairs, as a name may be repeated.
      ...fields.length === 0 ? [] : ['  headers: [', fields.join(',\n'), '  ],'],
      ...body === null || !mayHaveBody ? [] : [`  body: ${jsBody(body, request, '  ')},`],
      "  redirect: 'manual'",
      '})',
      'console.log(response.status, await response.text())',
      ''
    ].join('\n')
  }
}
