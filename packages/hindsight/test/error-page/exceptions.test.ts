import t from 'tap'
import { highlightLines, renderChain } from '../../src/error-page/exceptions.js'
import { parseHtml } from '../support/parse-html.js'

/** Lines with the classes of what is coloured: `k:const a = n:1`. */
function shown (lines: string[], file = 'a.ts', mark: Parameters<typeof highlightLines>[2] = null): string[] {
  return highlightLines(lines, file, mark).map((line) => {
    const document = parseHtml(`<p>${line}</p>`)
    return [...document.querySelector('p')?.childNodes ?? []].map((node) => {
      const name = (node as Partial<Element>).className
      return name === undefined ? node.textContent : `‹${name}:${node.textContent}›`
    }).join('')
  })
}

t.test('tokens of the source are colored by their kind', async (t) => {
  const cases: Array<[name: string, lines: string[], expected: string[], file?: string]> = [
    ['words', ['const a: Map = new Map(b.new)'], ['‹k:const› a: ‹t:Map› = ‹k:new› ‹t:Map›(b.new)']],
    ['literals', ['f(1, "x", /y/g, `z$' + '{a}`)'], ['f(‹n:1›, ‹s:"x"›, ‹s:/y/g›, ‹s:`z$' + '{›a‹s:}`›)']],
    ['comments over lines', ['/* a', 'b */ c // d'], ['‹c:/* a›', '‹c:b */› c ‹c:// d›']],
    ['JSX', ['return <B c="d">e</B>'], ['‹k:return› <‹t:B› ‹t:c›=‹s:"d"›>e</‹t:B›>'], 'a.jsx'],
    ['another language', ['const a = "b"'], ['const a = "b"'], 'a.vue']
  ]
  for (const [name, lines, expected, file] of cases) t.same(shown(lines, file), expected, name)
})

t.test('the excerpt marks the expression at the position of the frame', async (t) => {
  t.same(shown(['a()', '  here(1)'], 'a.ts', { line: 1, column: 3 }), ['a()', '  ‹at:here›(‹n:1›)'])
  t.same(shown(['throw new Error()'], 'a.ts', { line: 0, column: 7 }), ['‹k:throw› ‹k at:new› ‹t:Error›()'])
  t.same(shown(['x here y'], 'a.svelte', { line: 0, column: 3 }), ['x here y'], 'no mark in another language')
  for (const mark of [{ line: 0, column: 99 }, { line: 9, column: 1 }, { line: -1, column: 1 }, { line: 0, column: 2 }]) {
    for (const file of ['a.ts', 'a.vue']) t.same(shown(['x y'], file, mark), ['x y'], `${JSON.stringify(mark)} of ${file}`)
  }
})

t.test('the variables of a call are below its source', async (t) => {
  const frame = { file: '/srv/a.ts', line: 2, column: 1, function: 'sum', own: true }
  const excerpt = { start: 1, lines: ['let total', 'total()'] }
  const values = [{ function: 'sum', file: '/srv/a.ts', line: 2, column: 1, variables: [{ name: 'total', value: '3' }] }]
  const order = (frames: Array<typeof frame>) => {
    const chain = renderChain([{ name: 'Error', message: 'x', stack: '', frames, values }] as never, { editor: null, shown: new Set() })
    return [...parseHtml(String(chain[0])).querySelectorAll('.frame, .excerpt, .values, .note')].map(({ className }) => className)
  }
  t.same(order([{ ...frame, excerpt } as typeof frame, frame]), ['frame', 'excerpt', 'values', 'frame'])
  t.same(order([frame]), ['frame', 'values'])
  t.same(order([]), ['note none', 'values'])
})

t.test('any source is shown as text, without markup of its own', async (t) => {
  const hostile = [
    '</code></pre><script>alert(1)</script>', '<i class="k" onclick=alert(1)>', '&lt;', '`${', '"', '/*', '*/', '/[', '<a b={', '\\', '#!x', '#', '@', '', '\t',
    'é', '𝒳', '\u{10ffff}'
  ]
  for (const file of ['a.ts', 'a.tsx', 'a.js', 'a.html']) {
    for (const one of hostile) {
      const lines = [one, `x ${one}${one} y`, one.repeat(200)]
      const document = parseHtml(`<pre>\n${highlightLines(lines, file, { line: 1, column: 4 }).join('\n')}</pre>`)
      const pre = document.querySelector('pre')
      t.equal(pre?.textContent, lines.join('\n'), `${file}: ${one}`)
      t.same([...pre?.querySelectorAll('*') ?? []].filter(
        (element) => element.tagName !== 'I' || !/^(?:[skcnt]|at|[skcnt] at)$/.test(element.className) || element.attributes.length !== 1
      ).length, 0)
    }
  }
  t.same(highlightLines(['x'.repeat(30_000)], 'a.ts', null).map(String), ['x'.repeat(30_000)], 'oversized source is not colored')
})
