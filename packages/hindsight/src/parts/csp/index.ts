import createError from '@fastify/error'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readProperty } from '../../errors/thrown-value.js'
import type { Refusal } from '../../recording/trace.js'
import type { Mask } from '../../mask/mask.js'
import { cutText, visibleLine } from '../../view/text.js'
import { pairsSection, rowsSection } from '../../view/components.js'
import { dataOf, isObject, listOf, type Data } from '../read.js'
import type { Part, ProfilerPages } from '../part.js'
import { flattenPaths } from '../section.js'
import type { Profile } from '../../store/profile.js'

const BadReportError =
  createError('HINDSIGHT_BAD_REPORT', 'The body is not a report of a Content Security Policy.', 400)

const REPORT = 'application/csp-report'
/** Bytes. */
const REPORT_LIMIT = 64 * 1024
const MAX_TEXT = 1_000
/** Of one page. */
const MAX_VIOLATIONS = 10

/** The violation of a report as `report-uri` sends it (CSP3, section 5.3), masked and bounded; null if it has none. */
export function readReport (body: unknown, maskUrl: Mask['url']): Refusal | null {
  const report = readProperty(body, 'csp-report')
  if (!isObject(report)) return null
  const url = (name: string): string => {
    const value = report[name]
    if (typeof value !== 'string') return ''
    return visibleLine(cutText(maskUrl(value), MAX_TEXT))
  }
  // Older browsers send the directive with its sources.
  const text = String(report['effective-directive'] ?? report['violated-directive'] ?? '')
  const [rule = ''] = text.toLowerCase().split(' ', 1)
  if (!/^[a-z][a-z-]{1,60}$/.test(rule)) return null
  const isReportOnly = report.disposition === 'report'
  const [verb, name] = isReportOnly ? ['Reported, not blocked,', 'reportOnly'] : ['Blocked', 'enforce']
  const option = `contentSecurityPolicy.${name}`
  const [blocked, line] = [url('blocked-uri'), report['line-number']]
  let place = url('source-file')
  if (place !== '' && Number.isSafeInteger(line)) place += `:${String(line)}`
  const what = ['', 'inline'].includes(blocked) ? 'inline code' : blocked
  const sentence = `${verb} by Content Security Policy: ${what}${place && ` (${place})`}, by ${rule}. ` +
    `The option is ${option}.`
  return { kind: 'csp', sentence, option }
}

/** A copy of the profile with a violation of its page. Equal ones, and further ones than 10, are left out. */
export function withViolation (profile: Profile, violation: Refusal): Profile {
  const violations = violationsOf(profile)
  const isKnown = violations.some(({ sentence }) => sentence === violation.sentence)
  if (isKnown || violations.length >= MAX_VIOLATIONS) return profile
  const blocked = [...listOf(profile.collectors.blocked), violation]
  return { ...profile, collectors: { ...profile.collectors, blocked } }
}

function violationsOf ({ collectors }: Profile): Data[] {
  return listOf(collectors.blocked).filter(({ kind }) => kind === 'csp')
}

/** Adds the route to which browsers report: it attaches the report to the profile of the page. */
function addReports (app: FastifyInstance, { optionsOf, amend }: ProfilerPages): void {
  const { debug, mask, routeTable } = app.hindsight
  if (!debug) return
  if (app.hasContentTypeParser(REPORT)) app.removeContentTypeParser(REPORT)
  app.addContentTypeParser(REPORT, { parseAs: 'string' }, app.getDefaultJsonParser('error', 'error'))
  const options = { ...optionsOf('_profiler_csp_report'), bodyLimit: REPORT_LIMIT }
  app.post('/csp-report/:token', options, async (request: FastifyRequest, reply: FastifyReply) => {
    const violation = readReport(request.body, (url) => mask.withParams(routeTable.paramsOf(url, request)).url(url))
    if (violation === null) throw new BadReportError()
    await amend(request, (profile) => withViolation(profile, violation))
    return reply.code(204).send()
  })
}

/** The policies of the response, and the violations that browsers have reported. */
export const csp: Part<Data> = {
  name: 'csp',
  from: 'request',
  routes: addReports,
  comparison: [{ values: ({ ofDiagnosticPage: _, ...data }) => flattenPaths(data) }],
  panel: {
    label: 'Content Security Policy',
    group: 'hooks',
    warnings: (_, profile) => violationsOf(profile).length,
    render: ({ ofRoute, ofDiagnosticPage, nonces }, profile) => {
      const violations = violationsOf(profile)
      return [
        violations.length > 0 &&
          rowsSection('Blocked by Content Security Policy', { sentence: 'Violation' }, violations),
        pairsSection('Policy', {
          'set by the route': ofRoute ?? [],
          'of the diagnostic page': ofDiagnosticPage === true ? 'yes' : 'no',
          'nonces used in': nonces ?? [],
          ...policiesOf(profile)
        })
      ]
    }
  }
}

function policiesOf (profile: Profile): Record<string, unknown> {
  const { headers } = dataOf(profile, 'response')
  const policies = Object.entries(Object(headers) as Data)
    .filter(([name]) => name.startsWith('content-security-policy'))
    .map(([name, value]) => [name, [value].flat().flatMap((policy) => String(policy).split(/(?<=[;,])\s*/))])
  return Object.fromEntries(policies)
}
