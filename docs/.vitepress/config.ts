import { readdirSync, readFileSync } from 'node:fs'
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
  // README.md, CHANGELOG.md, examples and sources are not pages of the site.
  ignoreDeadLinks: [/\/README$/, /\/CHANGELOG$/, /\/app\/lifecycle\.ts$/, /profile\.schema\.json$/],
  markdown: {
    config (md) {
      // Two braces in code are text, not an expression of Vue.
      const { code_inline: render } = md.renderer.rules
      md.renderer.rules.code_inline = (...args) => (render?.(...args) ?? '').replaceAll('{{', '&#123;&#123;')
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
