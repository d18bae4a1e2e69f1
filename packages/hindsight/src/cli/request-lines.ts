import { formatTime, statusOf, statusText } from '../view/components.js'
import { listedException, shownOutcome, type ProfileSummary } from '../store/profile.js'
import { shortenMiddle, type Formatter, type Style } from './terminal.js'

type ShownRequest =
  Pick<ProfileSummary, 'token' | 'time' | 'method' | 'url' | 'status' | 'duration' | 'error' | 'exception' | 'values'>

/** A request as a line after a mark of one character, and a second line for its exception. */
export function requestLines (mark: string, request: ShownRequest, { columns, style }: Formatter): string[] {
  const { token, status, time, duration, method, url, error } = request
  const exception = listedException(request)
  const facts = `${time.slice(5, 19).replace('T', ' ')}Z ${formatTime(duration).padStart(9)}`
  const path = url.replace(/^https?:\/\/[^/?#]*(?=\/)/, '')
  const code = statusText(status, shownOutcome(request))
  const target = style('reset', shortenMiddle(`${method} ${path}`, columns - 40 - code.length))
  const outcome = style(statusColor(statusOf(status, shownOutcome(request), error)), code)
  const lines = [`${mark} ${style('bold', token)}  ${outcome}  ${style('dim', facts)}  ${target}`]
  if (exception !== null) lines.push(`  ${style('red', shortenMiddle(exception, columns - 2))}`)
  return lines
}

function statusColor (status: number): Style {
  if (status >= 500) return 'red'
  if (status >= 400) return 'yellow'
  if (status >= 300) return 'cyan'
  if (status > 0) return 'green'
  return 'dim'
}
