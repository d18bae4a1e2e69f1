import { compareProfiles } from '../../lib/profiler/compare/compare.js'
import type { Difference } from '../../lib/profiler/compare/comparison.js'
import { profileMarkdown } from '../../lib/profiler/markdown/profile-markdown.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { code } from '../../lib/view/markdown.js'
import { cut } from '../../lib/view/visible.js'

const MAX_VALUE = 200
const MAX_DIFFERENCES = 40

/** Two profiles side by side as Markdown: what differs first, then both. */
export function compareMarkdown (left: Profile, right: Profile): string {
  const { sections, differences: count, equal } = compareProfiles(left, right)
  const told = sections.flatMap(({ label, differences }) => differences.map((difference) => line(label, difference)))
  const more = told.length - MAX_DIFFERENCES
  return [
    `# ${left.token} and ${right.token}`,
    count === 0 ? `Nothing that matters differs; ${equal} things are the same.` : [...told.slice(0, MAX_DIFFERENCES), ...(more > 0 ? [`- and ${more} more`] : []), `\n${equal} things are the same.`].join('\n'),
    `---\n\nThe first, ${left.token}:`, profileMarkdown(left), `---\n\nThe second, ${right.token}:`, profileMarkdown(right)
  ].join('\n\n')
}

function line (label: string, { what, a, b }: Difference): string {
  return `- ${label}, ${code(cut(what, MAX_VALUE))}: ${shown(a)} → ${shown(b)}`
}

function shown (value: unknown): string {
  if (value === undefined || value === null) return 'not there'
  return code(cut(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE))
}
