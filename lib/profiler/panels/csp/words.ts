/** One directive of a policy (CSP3, section 6), explained. */
export interface ExplainedDirective {
  [field: string]: unknown
  name: string
  sources: string
  words: string
}

const SUBJECTS: Readonly<Record<string, string>> = {
  'default-src': 'Whatever has no directive of its own',
  'script-src': 'Scripts',
  'script-src-elem': 'Script elements',
  'script-src-attr': 'Inline event handlers',
  'style-src': 'Styles',
  'style-src-elem': 'Style elements and stylesheets',
  'style-src-attr': 'Style attributes',
  'img-src': 'Images',
  'font-src': 'Fonts',
  'connect-src': 'Connections of scripts (fetch, WebSocket, EventSource)',
  'media-src': 'Audio and video',
  'object-src': 'Plugins (object, embed)',
  'frame-src': 'Frames in the page',
  'child-src': 'Frames and workers',
  'worker-src': 'Workers',
  'manifest-src': 'The manifest of the application',
  'prefetch-src': 'What is fetched ahead',
  'base-uri': 'The base URL of the page may be set to',
  'form-action': 'Forms may be sent to',
  'frame-ancestors': 'The page may be framed by'
}

const WHOLE: Readonly<Record<string, string>> = {
  'upgrade-insecure-requests': 'Requests for http: are made by https: instead.',
  'block-all-mixed-content': 'Nothing is loaded by http: into a page of https:.',
  sandbox: 'The page is in a sandbox',
  'report-uri': 'Violations are reported to',
  'report-to': 'Violations are reported to the group',
  'require-trusted-types-for': 'What writes markup or scripts needs Trusted Types',
  'trusted-types': 'Trusted Types policies may be called'
}

const KEYWORDS: Readonly<Record<string, string>> = {
  "'self'": 'this origin',
  "'none'": 'nowhere',
  "'unsafe-inline'": 'whatever stands inline in the page (unsafe)',
  "'unsafe-eval'": 'text run as a script (unsafe)',
  "'wasm-unsafe-eval'": 'WebAssembly',
  "'strict-dynamic'": 'what an allowed script loads itself (hosts and schemes do not count)',
  "'unsafe-hashes'": 'inline handlers and style attributes with an allowed hash',
  "'report-sample'": 'a sample of the violation is reported',
  '*': 'any host',
  'data:': 'data: URLs',
  'blob:': 'blob: URLs',
  'https:': 'any host by https:',
  'http:': 'any host by http: or https:'
}

/** The directives of one policy in the order of the header. */
export function directivesOf (policy: string): ExplainedDirective[] {
  return policy.split(';').map((part) => part.trim()).filter((part) => part !== '').map((part) => {
    const [name = '', ...sources] = part.split(/\s+/)
    return { name, sources: sources.join(' '), words: wordsOf(name.toLowerCase(), sources) }
  })
}

function wordsOf (name: string, sources: readonly string[]): string {
  const whole = WHOLE[name]
  if (whole !== undefined) return sources.length === 0 || whole.endsWith('.') ? whole : `${whole}: ${sources.join(', ')}`
  const subject = SUBJECTS[name] ?? 'What browsers may know of this directive'
  if (sources.length === 0) return `${subject}: nowhere`
  // Beside anything else it is ignored (CSP3, section 2.3.1).
  const counted = sources.length > 1 ? sources.filter((source) => source.toLowerCase() !== "'none'") : sources
  const hasNonce = counted.some((source) => /^'(?:nonce-|sha\d|strict-dynamic)/i.test(source))
  return `${subject}: ${counted.map((source) => sourceWords(source, hasNonce)).join(', ')}`
}

function sourceWords (source: string, hasNonce: boolean): string {
  const lower = source.toLowerCase()
  // CSP3, section 6.7.3.2.
  if (lower === "'unsafe-inline'" && hasNonce) return 'whatever stands inline, for old browsers alone: the nonce or hash beside it switches it off'
  if (lower.startsWith("'nonce-")) return 'what carries the nonce of this response'
  if (/^'sha\d+-/.test(lower)) return 'what has this hash'
  return KEYWORDS[lower] ?? source
}
