import { HtmlValidate, type RuleConfig } from 'html-validate'

/** Says what an independent checker finds wrong with a page: the rule, its words and the line. `rules` are in addition to the recommended. */
export function htmlChecker (rules: RuleConfig = {}): (body: string) => Promise<string[]> {
  const checker = new HtmlValidate({
    root: true,
    extends: ['html-validate:recommended'],
    rules: {
      // Matters of taste rather than of the standard.
      'long-title': 'off',
      'no-trailing-whitespace': 'off',
      'tel-non-breaking': 'off',
      ...rules
    }
  })
  return async function findings (body) {
    const { results } = await checker.validateString(body)
    const lines = body.split('\n')
    return results.flatMap(({ messages }) => messages.map(({ ruleId, message, line }) => `${ruleId}: ${message}: ${lines[line - 1]?.slice(0, 300)}`))
  }
}
