import type { Format } from './formats.js'
import { jsBody, jsString, jsText, maskedFunction } from './source-text.js'

/** A module for Node.js. */
export const fetchFormat: Format = {
  name: 'fetch',
  label: 'fetch',
  extension: '.mjs',
  type: 'text/plain; charset=utf-8',
  write: ({ request, message: { method, body }, url, headers, head }) => {
    const fields = headers.map(([name, value]) => `    [${jsString(name)}, ${jsText(value)}]`)
    const mayHaveBody = method !== 'GET' && method !== 'HEAD'
    const comments = [
      ...head,
      ...body === undefined || mayHaveBody ? [] : ['The body is left out: fetch sends none with GET and HEAD.'],
      ...method === 'TRACE' || method === 'CONNECT' ? [`fetch refuses the method ${method}.`] : []
    ]
    return [
      ...comments.map((line) => `// ${line}`),
      ...maskedFunction(request.masked),
      '',
      `const response = await fetch(${jsText(url, true)}, {`,
      `  method: ${jsString(method)},`,
      // A list of pairs, as a name may be repeated.
      ...fields.length === 0 ? [] : ['  headers: [', fields.join(',\n'), '  ],'],
      ...body === undefined || !mayHaveBody ? [] : [`  body: ${jsBody(body, request, '  ')},`],
      "  redirect: 'manual'",
      '})',
      'console.log(response.status, await response.text())',
      ''
    ].join('\n')
  }
}
