const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const IMF_FIXDATE = /^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2}) GMT$/
const RFC_850 = /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2}) GMT$/
const ASCTIME = /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2}) (?<year>\d{4})$/

/**
 * Reads an HTTP date in any of its three forms (RFC 9110, section 5.6.7), as milliseconds since the epoch; null for
 * everything else. `Date.parse` takes far more than that, and what is no HTTP date has to be ignored.
 */
export function parseHttpDate (text: string, now: number = Date.now()): number | null {
  const groups = (IMF_FIXDATE.exec(text) ?? RFC_850.exec(text) ?? ASCTIME.exec(text))?.groups
  if (groups === undefined) return null
  const { day = '', month = '', year = '', hour, minute, second } = groups
  const date = new Date(0)
  date.setUTCFullYear(year.length === 2 ? fullYear(Number(year), now) : Number(year), MONTHS.indexOf(month), Number(day))
  date.setUTCHours(Number(hour), Number(minute), Math.min(Number(second), 59))
  // A day that its month does not have, and an hour that no day has, roll over into others.
  const exists = MONTHS[date.getUTCMonth()] === month && date.getUTCDate() === Number(day) &&
    date.getUTCHours() === Number(hour) && date.getUTCMinutes() === Number(minute) && Number(second) <= 60
  return exists ? date.getTime() : null
}

// A year of two digits that seems to lie more than 50 years ahead is the most recent one in the past.
function fullYear (digits: number, now: number): number {
  const current = new Date(now).getUTCFullYear()
  const year = Math.floor(current / 100) * 100 + digits
  return year > current + 50 ? year - 100 : year
}
