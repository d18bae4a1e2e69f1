/** The first segments of the profiler's paths: its pages, the toolbar and previews of error pages. */
export const OWN_SEGMENTS: readonly string[] = ['_profiler', '_wdt', '_error']

const OWN_PATH = startingWith(OWN_SEGMENTS)
const PROFILE_PATH = startingWith(['_profiler', '_wdt'])

/** Whether a path is the profiler's; `base`: the prefix of the application. */
export function isOwnPath (path: string, base = ''): boolean {
  return matches(OWN_PATH, path, base)
}

/** Whether a path is one at which profiles are read: its requests have no profile. Previews of error pages have. */
export function isProfilePath (path: string, base: string): boolean {
  return matches(PROFILE_PATH, path, base)
}

// A router may decode a path, ignore its case and leave out slashes: each such spelling is the profiler's.
function matches (expression: RegExp, path: string, base: string): boolean {
  if (!path.startsWith(base)) return false
  return expression.test(path.slice(base.length).replace(/%[0-7][\da-f]/gi, decodeURIComponent))
}

function startingWith (segments: readonly string[]): RegExp {
  return new RegExp(`^[\\\\/]*(?:${segments.join('|')})(?:[\\\\/]|$)`, 'i')
}
