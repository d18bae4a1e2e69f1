/** The first segments of the profiler's paths: its pages, the toolbar and the reports of browsers. */
export const OWN_SEGMENTS: readonly string[] = ['_profiler', '_wdt', '_error']

const OWN_PATH = new RegExp(`^[\\\\/]*(?:${OWN_SEGMENTS.join('|')})(?:[\\\\/]|$)`, 'i')

/**
 * Whether a path below the prefix `base` is the profiler's. A router may decode it, ignore its case and leave out
 * slashes: the path of such a spelling is the profiler's, too.
 */
export function isOwnPath (path: string, base = ''): boolean {
  return path.startsWith(base) && OWN_PATH.test(path.slice(base.length).replace(/%[0-7][\da-f]/gi, decodeURIComponent))
}
