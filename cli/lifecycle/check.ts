import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

/** The lines of a unified diff between a file and the order as it is; none when they are the same. */
export function changedLines (file: string, kept: string, lines: readonly string[]): string[] {
  // Git may have changed the line ends.
  const before = `${kept.replaceAll('\r\n', '\n').trimEnd()}\n`
  const now = `${lines.join('\n')}\n`
  if (before === now) return []
  const options = { headerOptions: FILE_HEADERS_ONLY }
  return createTwoFilesPatch(file, 'as it runs now', before, now, undefined, undefined, options).trimEnd().split('\n')
}
