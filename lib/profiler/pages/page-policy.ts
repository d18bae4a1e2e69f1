/** The policy of a page: nothing but its own nonces and streams, and nobody may frame it. */
export function pagePolicy (nonce: { script: string, style: string }): string {
  return [
    "default-src 'none'",
    `style-src 'nonce-${nonce.style}'`,
    `script-src 'nonce-${nonce.script}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'"
  ].join('; ')
}

/** What keeps the pages of other origins from framing, opening or reading a debug page (HTML Standard, section 7.1.3; Fetch, section 3.7). */
export const ISOLATION: Readonly<Record<string, string>> = {
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin'
}
