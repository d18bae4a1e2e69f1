import t from 'tap'
import { parseHttpDate } from '../../../lib/http/http-date.js'

const RFC_EXAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37)
const NOW = Date.UTC(2026, 0, 1)

t.test('the three forms of an HTTP date', async (t) => {
  const cases: Array<[text: string, expected: number]> = [
    ['Sun, 06 Nov 1994 08:49:37 GMT', RFC_EXAMPLE],
    ['Sunday, 06-Nov-94 08:49:37 GMT', RFC_EXAMPLE],
    ['Sun Nov  6 08:49:37 1994', RFC_EXAMPLE],
    ['Tue Nov 15 08:49:37 1994', Date.UTC(1994, 10, 15, 8, 49, 37)],
    ['Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 29)],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2016, 11, 31, 23, 59, 59)],
    // 50 years ahead at most, else the most recent year in the past with these digits.
    ['Wednesday, 01-Jan-76 00:00:00 GMT', Date.UTC(2076, 0, 1)],
    ['Saturday, 01-Jan-77 00:00:00 GMT', Date.UTC(1977, 0, 1)]
  ]
  for (const [text, expected] of cases) t.equal(parseHttpDate(text, NOW), expected, text)
})

t.test('what is no HTTP date', async (t) => {
  for (const text of [
    '', 'yesterday', '0', '1994', '1994-11-06T08:49:37Z', 'Sun, 06 Nov 1994 08:49:37', 'Sun, 06 Nov 1994 08:49:37 UTC', 'Sun, 06 Nov 1994 08:49:37 +0000',
    'Sun, 6 Nov 1994 08:49:37 GMT', 'sun, 06 nov 1994 08:49:37 gmt', 'Sun, 06 Nov 94 08:49:37 GMT', 'Sun, 31 Feb 2020 00:00:00 GMT', 'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun, 06 Now 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 24:00:00 GMT', 'Sun, 06 Nov 1994 08:60:00 GMT', 'Sun, 06 Nov 1994 08:49:61 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT, Mon, 07 Nov 1994 08:49:37 GMT', ' Sun, 06 Nov 1994 08:49:37 GMT', 'Son, 06 Nov 1994 08:49:37 GMT'.repeat(1000)
  ]) t.equal(parseHttpDate(text, NOW), null, text.slice(0, 60))
})
