const COLUMNS = 100

/** A rule of textlint: no line is longer than 100 columns, except for tables, code and words without a space. */
export default function maxColumns (context) {
  const { Syntax, RuleError, report, getSource, locator } = context
  const exceptions = []
  const except = ({ range }) => { exceptions.push(range) }
  return {
    [Syntax.Table]: except,
    [Syntax.CodeBlock]: except,
    [Syntax.Code]: except,
    [Syntax.Html]: except,
    [`${Syntax.Document}:exit`] (node) {
      let start = 0
      for (const line of getSource(node).split('\n')) {
        const end = start + line.length
        const isException = exceptions.some(([from, to]) => from < end && to > start + COLUMNS)
        if (line.length > COLUMNS && !isException && line.trim().slice(0, COLUMNS).includes(' ')) {
          report(node, new RuleError(`The line has ${line.length} columns; ${COLUMNS} are allowed.`, {
            padding: locator.range([start + COLUMNS, end])
          }))
        }
        start = end + 1
      }
    }
  }
}
