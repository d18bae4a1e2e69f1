import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { defineConfig, type DefaultTheme } from 'vitepress'

const KINDS = { tutorial: 'Tutorial', 'how-to': 'How-to', reference: 'Reference', explanation: 'Explanation' }
const INDEX = readFileSync(new URL('../index.md', import.meta.url), 'utf8')

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
        // Names in tables wrap after these characters, and not within words.
        .replace(/(?<=>[^<]*[._/\]=])(?=\w)/g, '<wbr>')
      // README.md, examples and sources are not pages of the site: links to them become text.
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
    nav: Object.entries(KINDS).map(([folder, text]) => ({ text, link: pagesOf(folder)[0]?.link ?? '/' })),
    sidebar: [
      ...Object.entries(KINDS).map(([folder, text]) => ({ text, collapsed: false, items: bySubject(pagesOf(folder)) })),
      { text: 'More', items: pagesOf('').filter(({ link }) => link !== '/index') }
    ]
  }
})

type Page = DefaultTheme.SidebarItem & { text: string, link: string }

/** The pages in the subjects that index.md gives their links: list items that begin with a bold word. */
function bySubject (pages: Page[]): DefaultTheme.SidebarItem[] {
  const subjects = [...INDEX.matchAll(/^- \*\*(.+?):\*\*([^]*?)(?=\n- |\n\n)/gm)].map(([, text = '', links = '']) =>
    ({ text, items: pages.filter(({ link }) => links.includes(`(${link.slice(1)}.md)`)) }))
  const found = subjects.filter(({ items }) => items.length > 0)
  return found.length > 0 ? found : pages
}

/** The pages of a folder, in the order of the lists of index.md. */
function pagesOf (folder: string): Page[] {
  const place = new URL(`../${folder === '' ? '' : `${folder}/`}`, import.meta.url)
  return readdirSync(place).filter((file) => file.endsWith('.md')).map((file) => {
    const text = /^# (.*)$/m.exec(readFileSync(new URL(file, place), 'utf8'))?.[1] ?? file
    return { text: text.replaceAll('`', ''), link: `${folder === '' ? '' : `/${folder}`}/${file.replace(/\.md$/, '')}` }
  }).sort((a, b) => positionOf(a) - positionOf(b))
}

function positionOf ({ link }: Page): number {
  return INDEX.lastIndexOf(`(${link.slice(1)}.md`)
}
