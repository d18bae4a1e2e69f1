import t from 'tap'
import { html } from '../../../src/view/text.js'
import { highlightedText, markOf, runnableText } from '../../../src/parts/queries/statement-text.js'

t.test('a statement can be run again with its parameters as literals', (t) => {
  const cases: Array<[system: string, statement: string, parameters: unknown, expected: string]> = [
    ['sqlite', 'select ? , ?2, ?1', [1, 'b'], "select 1 , 'b', 1"],
    ['sqlite', 'select :a, $b, @c', { a: 1, $b: null, c: true }, 'select 1, null, true'],
    ['postgresql', 'select $1, $2, $10', ["it's", { a: [1] }], 'select \'it\'\'s\', \'{"a":[1]}\', $10'],
    ['postgresql', 'select * from t where tags ? $1 and id = any($2)', ['x', [1, 2]], "select * from t where tags ? 'x' and id = any(array[1, 2])"],
    ['postgresql', 'select $1', [[]], "select '{}'"],
    ['mysql', 'select ?', ['a\\b'], "select 'a\\\\b'"],
    ['sqlite', "select '?', \"?\" -- ?\nwhere a = ?", ['x'], "select '?', \"?\" -- ?\nwhere a = 'x'"],
    ['sqlite', 'select ?', [], 'select ?'],
    ['redis', 'SET', ['key', 'two words', 3], 'SET key "two words" 3'],
    ['mongodb', 'items.find', [{ a: 1 }, null], 'items.find({"a":1}, null)'],
    ['mongodb', 'items.find', { a: 1 }, 'items.find({"a":1})']
  ]
  for (const [system, statement, parameters, expected] of cases) t.equal(runnableText({ system, statement, parameters }), expected)
  t.end()
})

t.test('the place of an error is found in the statement with its parameters', (t) => {
  const marked = (statement: string, parameters: unknown, position: unknown): string | undefined => {
    const query = { system: 'postgresql', statement, parameters }
    const mark = markOf(query, position)
    return mark === undefined ? undefined : runnableText(query).slice(mark)
  }
  t.equal(marked('select $1, titel from t', ['a long value'], 12), 'titel from t')
  t.equal(marked("select '\u{1F600}', titel", [], 13), 'titel', 'characters are counted, not units of UTF-16')
  t.equal(marked('select $1 from', ['x'], 8), "'x' from")
  t.equal(marked('select 1 from', [], 14), '', 'the end of the statement')
  for (const position of [undefined, 0, -1, NaN, '3']) t.equal(marked('select 1', [], position), undefined)
  t.equal(markOf({ system: 'redis', statement: 'GET' }, 1), undefined)
  t.end()
})

t.test('statements are highlighted and escaped', (t) => {
  const markup = (statement: string, parameters: unknown = [], position?: number, system = 'postgresql'): string =>
    String(html`${highlightedText({ system, statement, parameters }, position)}`)
  t.equal(markup("SELECT a, '<b>', 1 -- c\nfrom \"t\" where id = $1", [2]),
    '<span class="sql-keyword">SELECT</span> a, <span class="sql-string">&#39;&#60;b&#62;&#39;</span>, <span class="sql-number">1</span> ' +
    '<span class="sql-comment">-- c</span>\n<span class="sql-keyword">from</span> &#34;t&#34; <span class="sql-keyword">where</span> ' +
    'id = <span class="sql-value">2</span>')
  t.equal(markup('select titel', [], 8), '<span class="sql-keyword">select</span> <mark>titel</mark>')
  t.equal(markup('select', [], 7), '<span class="sql-keyword">select</span><mark> </mark>')
  t.equal(markup('<b>', ['<i>'], undefined, 'redis'), '&#60;b&#62; &#60;i&#62;')
  t.end()
})
