import t from 'tap'
import { renderReport } from '../../../lib/error-page/diagnostic-page.js'
import type { ErrorReport } from '../../../lib/errors/report.js'
import { htmlChecker } from '../../support/html-checker.js'
import { sampleReport } from '../errors/sample.js'
import { everyday, hostile } from './serve.js'

const findings = htmlChecker({ 'require-csp-nonce': 'error' })

t.test('the page is valid HTML', async (t) => {
  const pages: Array<[name: string, changes: Partial<ErrorReport>]> = [
    ['a missing route', {}],
    ['a failure of everyday', everyday()],
    ['hostile text everywhere', hostile()],
    ['nothing known', { exceptions: [], logs: [], hints: [] }]
  ]
  for (const [name, changes] of pages) {
    const body = renderReport(sampleReport(changes), 'html', { script: 'sc', style: 'st' })
    t.same(await findings(body), [], name)
  }
  t.ok((await findings('<!DOCTYPE html><html lang="en"><head><title>x</title></head><body><p><div></div></p></body></html>')).length > 0, 'the checker reports invalid HTML')
})
