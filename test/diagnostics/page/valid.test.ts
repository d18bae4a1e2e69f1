import { HtmlValidate } from 'html-validate'
import t from 'tap'
import { renderReport } from '../../../plugins/diagnostics/render.js'
import type { ErrorReport } from '../../../plugins/diagnostics/report.js'
import { sampleReport } from '../sample.js'
import { everyday, hostile } from './serve.js'

const checker = new HtmlValidate({
  root: true,
  extends: ['html-validate:recommended'],
  rules: {
    // Matters of taste rather than of the standard.
    'long-title': 'off',
    'no-trailing-whitespace': 'off',
    'tel-non-breaking': 'off',
    'require-csp-nonce': 'error'
  }
})

t.test('the page is valid HTML', async (t) => {
  const pages: Array<[name: string, changes: Partial<ErrorReport>]> = [
    ['a missing route', {}],
    ['a failure of everyday', everyday()],
    ['hostile text everywhere', hostile()],
    ['nothing known', { exceptions: [], logs: [], hints: [] }]
  ]
  for (const [name, changes] of pages) {
    const body = renderReport(sampleReport(changes), 'html', { script: 'sc', style: 'st' })
    const { results } = await checker.validateString(body)
    t.same(results.flatMap(({ messages }) => messages.map(({ ruleId, message, line }) => `${ruleId}: ${message}: ${body.split('\n')[line - 1]?.slice(0, 200)}`)), [], name)
  }
  const { valid } = await checker.validateString('<!DOCTYPE html><html lang="en"><head><title>x</title></head><body><p><div></div></p></body></html>')
  t.equal(valid, false, 'the checker finds what is wrong')
})
