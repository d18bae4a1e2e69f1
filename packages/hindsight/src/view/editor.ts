/** Returns the URL that opens a place in the editor; null if the file is not in the file system. */
export type EditorLink = (file: string, line: number, column: number) => string | null

const PRESETS: Readonly<Record<string, string>> = {
  vscode: 'vscode://file%f:%l:%c',
  'vscode-insiders': 'vscode-insiders://file%f:%l:%c',
  vscodium: 'vscodium://file%f:%l:%c',
  cursor: 'cursor://file%f:%l:%c',
  windsurf: 'windsurf://file%f:%l:%c',
  zed: 'zed://file%f:%l:%c',
  webstorm: 'webstorm://open?file=%f&line=%l&column=%c',
  idea: 'idea://open?file=%f&line=%l&column=%c',
  sublime: 'subl://open?url=file://%f&line=%l&column=%c'
}
// No scheme that a browser would run or load by itself.
const SCHEMES = new Set([
  ...Object.values(PRESETS).map((template) => template.slice(0, template.indexOf(':'))),
  'phpstorm', 'txmt', 'emacs', 'http', 'https', 'editor', 'nvim', 'vim', 'helix', 'kate', 'lapce', 'nova', 'fleet'
])
const ABSOLUTE = /^(?:\/|[A-Za-z]:[\\/]|\\\\)/

/** Makes the function that writes links for the editor; null if none is configured. Throws for an unsafe template. */
export function editorLink (
  { editor = '', editorPaths = {} }: { editor?: string, editorPaths?: Record<string, string> }
): EditorLink | null {
  const paths = mappings(editorPaths)
  if (editor === '') return null
  const template = Object.hasOwn(PRESETS, editor) ? PRESETS[editor] as string : checked(editor)
  return (file, line, column) => {
    if (!ABSOLUTE.test(file) || !file.isWellFormed()) return null
    const source = file.replaceAll('\\', '/')
    const [from, to] = paths.find(([from]) => source.startsWith(from)) ?? ['', '']
    const path = (to + source.slice(from.length)).replace(/[^\w/.~!*'()-]/gu, encodeURIComponent)
      // In a path `C:/…` needs a slash before it, in the value of a parameter it does not.
      .replace(/^([A-Za-z])%3A\//, template.includes('?') ? '$1:/' : '/$1:/')
    const values: Record<string, string> = { '%f': path, '%l': String(line || 1), '%c': String(column || 1) }
    return template.replace(/%[flc]/g, (placeholder) => values[placeholder] as string)
  }
}

function checked (template: string): string {
  const fault = (what: string): Error => new Error(`Option "editor" (EDITOR_URL): ${what}`)
  const scheme = /^([a-z][a-z\d+.-]*):/i.exec(template)?.[1]?.toLowerCase()
  if (scheme === undefined) {
    const names = Object.keys(PRESETS).join(', ')
    throw fault(`unknown editor "${template}"; use ${names}, or a URL with %f and %l`)
  }
  if (!SCHEMES.has(scheme)) throw fault(`the scheme "${scheme}:" is not allowed; use ${[...SCHEMES].join(', ')}`)
  if (/[\s"'<>`\\\p{Cc}]/u.test(template)) throw fault(`"${template}" contains characters that a URL cannot have`)
  if (!template.includes('%f')) throw fault(`"${template}" has no %f for the file`)
  return template
}

/** Folders and their replacements, with `/` between segments and at the end; the longest folder is first. */
function mappings (editorPaths: Record<string, string>): Array<[from: string, to: string]> {
  const folder = (path: string): string => path.replaceAll('\\', '/').replace(/\/*$/, '/')
  return Object.entries(editorPaths).map(([from, to]): [string, string] => {
    if (!ABSOLUTE.test(from) || !ABSOLUTE.test(to)) {
      throw new Error(`Option "editorPaths": "${from}" to "${to}" is not a pair of absolute paths`)
    }
    return [folder(from), folder(to)]
  }).sort(([a], [b]) => b.length - a.length)
}
