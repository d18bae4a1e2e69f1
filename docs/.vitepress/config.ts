import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { defineConfig, type DefaultTheme } from 'vitepress'

const KINDS = { tutorial: 'Tutorial', 'how-to': 'How-to', reference: 'Reference', explanation: 'Explanation' }
/** Where links to files outside of `docs/` lead on the site. */
const REPOSITORY_PAGE = '/architecture'

export default defineConfig({
  title: 'Hindsight',
  description: 'Explains every request of a Fastify application',
  outDir: '../dist-docs',
  cacheDir: '../node_modules/.cache/vitepress',
  srcExclude: ['screenshots/**'],
  // A file that is copied.
  ignoreDeadLinks: [/profile\.schema\.json$/],
  buildEnd ({ srcDir, outDir }) {
    const schema = 'reference/profile.schema.json'
    cpSync(posix.join(srcDir, schema), posix.join(outDir, schema))
  },
  markdown: {
    config (md) {
      // Two braces in code are text, not an expression of Vue.
      const { code_inline: render } = md.renderer.rules
      md.renderer.rules.code_inline = (...args) => (render?.(...args) ?? '').replaceAll('{{', '&#123;&#123;')
      // README.md, CHANGELOG.md, examples and sources are not pages of the site: links to them become text.
      md.core.ruler.push('links out of docs', ({ tokens, env }) => {
        const { relativePath } = env as { relativePath: string }
        for (const { children } of tokens) {
          let isOutside = false
          for (const token of children ?? []) {
            if (token.type === 'link_open') {
              isOutside = posix.join(posix.dirname(relativePath), token.attrGet('href') ?? '').startsWith('../')
            }
            if (!isOutside || !token.type.startsWith('link_')) continue
            Object.assign(token, { type: token.type.replace('link', 'span'), tag: 'span', attrs: null })
          }
        }
      })
    }
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: Object.entries(KINDS).map(([folder, text]) => ({ text, link: pagesOf(folder)[0]?.link ?? REPOSITORY_PAGE })),
    sidebar: [
      ...Object.entries(KINDS).map(([folder, text]) => ({ text, collapsed: false, items: pagesOf(folder) })),
      { text: 'More', items: pagesOf('').filter(({ link }) => link !== '/index') }
    ]
  }
})

/** The pages of a folder, by their titles. */
function pagesOf (folder: string): Array<DefaultTheme.SidebarItem & { text: string, link: string }> {
  const place = new URL(`../${folder === '' ? '' : `${folder}/`}`, import.meta.url)
  return readdirSync(place).filter((file) => file.endsWith('.md')).map((file) => {
    const text = /^# (.*)$/m.exec(readFileSync(new URL(file, place), 'utf8'))?.[1] ?? file
    return { text: text.replaceAll('`', ''), link: `${folder === '' ? '' : `/${folder}`}/${file.replace(/\.md$/, '')}` }
  }).sort((a, b) => a.text.localeCompare(b.text))
}
