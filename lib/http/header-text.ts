/**
 * The text of a header value: Node hands out its octets as ISO 8859-1, clients send UTF-8.
 * Octets that are no UTF-8 become U+FFFD (RFC 9110, section 5.5 calls them opaque).
 */
export function headerText (value: string): string {
  return /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8')
}

/** All values of a header that the client sent, joined by a comma and a space (RFC 9110, section 5.3). */
export function joinedHeader (rawHeaders: readonly string[], name: string): string {
  let joined = ''
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const other = rawHeaders[i] as string
    if (other.length !== name.length || other.toLowerCase() !== name) continue
    const value = rawHeaders[i + 1] as string
    joined = joined === '' ? value : `${joined}, ${value}`
  }
  return headerText(joined)
}

/** Whether the client sent a header more than once. */
export function isRepeated (rawHeaders: readonly string[], name: string): boolean {
  let seen = false
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const other = rawHeaders[i] as string
    if (other.length !== name.length || other.toLowerCase() !== name) continue
    if (seen) return true
    seen = true
  }
  return false
}

/** Percent-encodes text for a header value: what is left is unreserved (RFC 3986, section 2.3). */
export function percentEncoded (text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
