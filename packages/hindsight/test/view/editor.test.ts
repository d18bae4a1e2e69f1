import t from 'tap'
import type { HindsightOptions } from '../../src/options.js'
import { editorLink } from '../../src/view/editor.js'

t.test('each editor has its link', async (t) => {
  const cases: Array<[name: string, options: HindsightOptions, file: string, expected: string | null]> = [
    ['VS Code', { editor: 'vscode' }, '/srv/a.ts', 'vscode://file/srv/a.ts:7:3'],
    ['Zed', { editor: 'zed' }, '/srv/a.ts', 'zed://file/srv/a.ts:7:3'],
    ['WebStorm', { editor: 'webstorm' }, '/srv/a.ts', 'webstorm://open?file=/srv/a.ts&line=7&column=3'],
    ['Sublime Text', { editor: 'sublime' }, '/srv/a.ts', 'subl://open?url=file:///srv/a.ts&line=7&column=3'],
    ['a template', { editor: 'editor://open/?file=%f&line=%l' }, '/srv/a.ts', 'editor://open/?file=/srv/a.ts&line=7'],
    [
      'names that mean something in a URL', { editor: 'idea' }, '/srv/a b&line=1#"><x>%6c.ts',
      'idea://open?file=/srv/a%20b%26line%3D1%23%22%3E%3Cx%3E%256c.ts&line=7&column=3'
    ],
    ['a replacement pattern as a name', { editor: 'idea' }, '/srv/$&.ts', 'idea://open?file=/srv/%24%26.ts&line=7&column=3'],
    ['a drive, in the path', { editor: 'vscode' }, 'C:\\srv\\a.ts', 'vscode://file/C:/srv/a.ts:7:3'],
    ['a drive, in the query', { editor: 'idea' }, 'C:\\srv\\a.ts', 'idea://open?file=C:/srv/a.ts&line=7&column=3'],
    [
      'another place outside the container', { editor: 'vscode', editorPaths: { '/app': '/home/me/project/' } }, '/app/routes/a.ts',
      'vscode://file/home/me/project/routes/a.ts:7:3'
    ],
    ['the longest folder wins', { editor: 'vscode', editorPaths: { '/app': '/a', '/app/lib': '/b' } }, '/app/lib/a.ts', 'vscode://file/b/a.ts:7:3'],
    ['a folder that only begins alike', { editor: 'vscode', editorPaths: { '/app': '/a' } }, '/application/a.ts', 'vscode://file/application/a.ts:7:3'],
    ['a module of the runtime', { editor: 'vscode' }, 'node:events', null],
    ['no file', { editor: 'vscode' }, '', null],
    ['what is no text', { editor: 'vscode' }, '/\ud800.ts', null]
  ]
  for (const [name, options, file, expected] of cases) t.equal(editorLink(options)?.(file, 7, 3), expected, name)
  t.equal(editorLink({ editor: 'vscode' })?.('/a.ts', 0, 0), 'vscode://file/a.ts:1:1')
  t.equal(editorLink({}), null)
  t.equal(editorLink({ editor: '' }), null)
})

t.test('an unsafe link template stops the start', async (t) => {
  const known = 'vscode, vscode-insiders, vscodium, cursor, windsurf, zed, webstorm, idea, sublime'
  const schemes = 'vscode, vscode-insiders, vscodium, cursor, windsurf, zed, webstorm, idea, subl, phpstorm, txmt, emacs, ' +
    'http, https, editor, nvim, vim, helix, kate, lapce, nova, fleet'
  const cases: Array<[options: HindsightOptions, message: string]> = [
    [{ editor: 'javascript:alert(%f)' }, `Option "editor" (EDITOR_URL): the scheme "javascript:" is not allowed; use ${schemes}`],
    [{ editor: 'JavaScript:%f' }, `Option "editor" (EDITOR_URL): the scheme "javascript:" is not allowed; use ${schemes}`],
    [{ editor: 'data:text/html,%f' }, `Option "editor" (EDITOR_URL): the scheme "data:" is not allowed; use ${schemes}`],
    [{ editor: ' javascript:%f' }, `Option "editor" (EDITOR_URL): unknown editor " javascript:%f"; use ${known}, or a URL with %f and %l`],
    [{ editor: 'constructor' }, `Option "editor" (EDITOR_URL): unknown editor "constructor"; use ${known}, or a URL with %f and %l`],
    [{ editor: 'vscode://file/x' }, 'Option "editor" (EDITOR_URL): "vscode://file/x" has no %f for the file'],
    [{ editor: 'vscode://%f"><script>' }, 'Option "editor" (EDITOR_URL): "vscode://%f"><script>" contains characters that a URL cannot have'],
    [{ editor: 'vscode', editorPaths: { app: '/x' } }, 'Option "editorPaths": "app" to "/x" is not a pair of absolute paths'],
    [{ editorPaths: { '/app': 'x' } }, 'Option "editorPaths": "/app" to "x" is not a pair of absolute paths']
  ]
  for (const [options, message] of cases) t.throws(() => editorLink(options), { message }, message)
})
