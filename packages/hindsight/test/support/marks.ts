import { partMarkdown as markedPart, profileMarkdown as markedSheet } from '../../src/reading/profile-markdown.js'

/** The Markdown of a profile without the marks of who wrote a text, for tests of its contents. */
export function withoutMarks (markdown: string): string {
  return markdown.replaceAll(/^(- )?\(from: [a-z ]+\) /gm, '$1').replaceAll(/^(`{3,}\w+) from: [a-z ]+$/gm, '$1')
}

export function profileMarkdown (...args: Parameters<typeof markedSheet>): string {
  return withoutMarks(markedSheet(...args))
}

export function partMarkdown (...args: Parameters<typeof markedPart>): string {
  return withoutMarks(markedPart(...args))
}
