import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

/** How the order has changed against what a file says, as the lines of a unified diff; none where it has not. */
export function changedLines (file: string, kept: string, lines: readonly string[]): string[] {
  // Git may write other line ends than it has read.
  const before = `${kept.replaceAll('\r\n', '\n').trimEnd()}\n`
  const now = `${lines.join('\n')}\n`
  if (before === now) return []
  return createTwoFilesPatch(file, 'as it runs now', before, now, undefined, undefined, { headerOptions: FILE_HEADERS_ONLY }).trimEnd().split('\n')
}
