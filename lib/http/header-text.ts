/** The text of a header value: Node.js decodes it as ISO 8859-1, clients send UTF-8 (RFC 9110, section 5.5). */
export function headerText (value: string): string {
  return /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value, 'latin1').toString('utf8')
}

/** All values of a header that the client sent, joined by a comma and a space (RFC 9110, section 5.3). */
export function joinedHeader (rawHeaders: readonly string[], name: string): string {
  const values = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
  return headerText(values.filter((value) => value !== '').join(', '))
}

/** Whether the client sent a header more than once. */
export function isRepeated (rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name) count++
  }
  return count > 1
}

/** Percent-encodes text for a header value: only unreserved characters stay (RFC 3986, section 2.3). */
export function percentEncoded (text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Percent-decodes; null where that is not possible. */
export function percentDecoded (text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
