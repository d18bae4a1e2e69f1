import createError from '@fastify/error'
import { DATA_NOTE, hintParts, messageParts } from '../error-page/render-text.js'
import { shortFile } from '../errors/stack-frame.js'
import { mainCause } from '../errors/exception.js'
import { STATUS_CODES } from '../http/node-http.js'
import { byOrder, CODE_OR_INPUT, hintsOf, isObject, resultsOf } from '../parts/read.js'
import { parts as allParts } from '../parts/index.js'
import type { MarkdownSection, Part } from '../parts/part.js'
import { cutOffStatus, shownOutcome, type Profile } from '../store/profile.js'
import { formatTime, statusText } from '../view/components.js'
import { codeSpan, cutText, escapeMarkdown, fencedCode, presentItems, visibleJson } from '../view/text.js'
import { NO_CAUSE, successOf, type LastSuccess, type ProfileSource } from './compare/last-success.js'

/** Bytes of the whole text: with the marks around it that models receive, it has 6,000. Bytes of one part. */
const MAX_SHEET = 5_800
const MAX_PART = 20_000
/** Bytes for which a section has space although sections before it are long; those of its heading and its end. */
const MIN_SECTION = 300
const FRAME = 60
const MAX_NAME = 200
const MAX_TITLE = 400
const MAX_LINE = 500
const MAX_PARTS = 300
const MAX_OMITTED = 200
const UnknownPartError =
  createError('HINDSIGHT_NOT_AVAILABLE', 'Part "%s" was not found; this profile has: %s.', 404)

/** A section with the name by which it can be requested as a whole. */
type Section = MarkdownSection & { name: string, from?: string | undefined, language?: string }

/** The fact sheet of a profile, or one part of it, with its differences from the last success that is stored. */
export async function markdownOf (
  source: ProfileSource, profile: Profile, part?: unknown, parts: readonly Part[] = allParts
): Promise<string> {
  const success = await successOf(source, profile, parts)
  if (part === undefined) return profileMarkdown(profile, success, parts)
  return partMarkdown(profile, String(part), success, parts)
}

/**
 * The fact sheet of a profile: at most 6,000 bytes of Markdown, the most important section first. All values are
 * escaped or fenced, with the mark of who wrote them, and none is in a heading. What has no space is counted, with the
 * name of its part. `success`: the last success of the route of a failure.
 */
export function profileMarkdown (
  profile: Profile, success: LastSuccess | null = null, parts: readonly Part[] = allParts
): string {
  const { token, status, method, url } = profile
  const outcome = cutOffStatus(profile) ?? profile.outcome
  let title = statusText(status, outcome)
  if (outcome === undefined) title = `${title} ${STATUS_CODES[status] ?? ''}`.trim()
  const head = [
    `# ${title.charAt(0).toUpperCase()}${title.slice(1)}`,
    DATA_NOTE,
    ...messageParts(mainCause(profile)?.message).map((text) => markedBlock(text)),
    markedBlock(codeSpan(cutText(`${method} ${url}`, MAX_TITLE)), 'request'),
    markedBlock(facts(profile))
  ]
  const sections = sectionsOf(profile, success, parts)
  const names = cutText(namesOf(profile, sections).join(', '), MAX_PARTS)
  const command = codeSpan(`fastify-hindsight show ${token} --part <part>`)
  let end = `All of a part: ${command}, with one of ${codeSpan(names)}.`
  let space = MAX_SHEET - size([...head, end]) - MAX_OMITTED
  const least = sections.map((section) => Math.min(size(blocksOf(section, MAX_SHEET)), MIN_SECTION))
  const omitted = new Set<string>()
  const blocks = sections.flatMap((section, i) => {
    const reserved = least.slice(i + 1).reduce((sum, bytes) => sum + bytes, 0)
    const shown = blocksOf(section, space - Math.min(reserved, space / 2))
    // A long run of backticks makes long fences.
    if (shown.length > 0 && size(shown) <= space) {
      space -= size(shown)
      return shown
    }
    omitted.add(section.name)
    return []
  })
  const left = [...omitted].join(', ').slice(0, MAX_OMITTED / 2)
  if (left !== '') end += ` No space here for ${codeSpan(left)}.`
  return [...head, ...blocks, end].join('\n\n') + '\n'
}

/** One part of a profile, of at most 20,000 bytes: its sections, or its data as JSON. Throws for another name. */
export function partMarkdown (
  profile: Profile, part: string, success: LastSuccess | null = null, parts: readonly Part[] = allParts
): string {
  const all = sectionsOf(profile, success, parts)
  const sections = all.filter(({ name }) => name === part)
  const blocks = sections.flatMap((section) => blocksOf(section, Math.floor(MAX_PART / sections.length), ' --json'))
  if (sections.length === 0) {
    const json = visibleJson(partOf(profile, part, namesOf(profile, all)), 1)
    const { from = CODE_OR_INPUT } = parts.find(({ name }) => name === part) ?? {}
    blocks.push(fencedCode(cutText(json, MAX_PART / 2), `json from: ${from}`))
  }
  return [DATA_NOTE, ...blocks].join('\n\n') + '\n'
}

/** A list of a profile, or the data of a collector. Throws when the profile does not have it. `names`: what it has. */
export function partOf (profile: Profile, part: string, names = namesOf(profile)): unknown {
  const { exceptions, logs, events, collectors } = profile
  const data: Record<string, unknown> = { ...collectors, exceptions, logs, events }
  if (Object.hasOwn(data, part)) return data[part]
  throw new UnknownPartError(cutText(part, MAX_NAME), names.join(', '))
}

function namesOf ({ collectors }: Profile, sections: readonly Section[] = []): string[] {
  const ofSections = sections.map(({ name }) => name)
  return [...new Set([...ofSections, 'exceptions', 'logs', 'events', ...Object.keys(collectors)])]
}

/** The sections of all parts, with the hints and the differences: the most important first. */
function sectionsOf (profile: Profile, success: LastSuccess | null, parts: readonly Part[]): Section[] {
  const ofParts = parts.flatMap((part) => resultsOf([part], profile, (_, data) => part.markdown?.(data, profile, parts))
    .map((section): Section => ({ ...section, name: part.name, from: part.from })))
  const hints = hintsOf(parts, profile).map((hint) =>
    ({
      name: 'hints', order: 15, title: `Hint: ${hint.title}`, from: hint.from, blocks: hintParts(hint).slice(1)
    }))
  const all: Section[] = presentItems([...ofParts, ...hints, success && differencesSection(success)])
  return all.sort(byOrder).map((section) => ({ ...section, ...markedSection(section) }))
}

/** A section whose blocks have marks. The heading of a hint may quote a request: it becomes a block. */
function markedSection ({ name, title, text, blocks = [], from = CODE_OR_INPUT }: Section): Partial<Section> {
  const shown = blocks.map((block) => markedBlock(block, from))
  const language = `text from: ${from}`
  if (name !== 'hints') return { blocks: shown, language }
  const [heading = '', ...quoted] = String(title).split(': ')
  return { title: heading, blocks: [markedBlock(escapeMarkdown(quoted.join(': ')), from), ...shown], language }
}

/** A block with the mark of who wrote its values: after the language of code, and before each other line. */
function markedBlock (block: string, from: string = CODE_OR_INPUT): string {
  if (/^`{3,}\w*\n/.test(block)) return block.replace(/^(`{3,}\w*)/, `$1 from: ${from}`)
  return block.split('\n').map((line) => line.replace(/^(?:#+ |(- ))?/, `$1(from: ${from}) `)).join('\n')
}

/** The heading, the lines and the paragraphs of a section for which there is space, and how many there are besides. */
function blocksOf (
  { name, title, text, language = 'text', ranks = [], blocks = [] }: Section, space: number, option = ''
): string[] {
  const heading = `## ${escapeMarkdown(cutText(String(title), MAX_TITLE))}`
  const lines = text === undefined ? [] : String(text).split('\n').map((line) => cutText(line, MAX_LINE))
  let free = space - size([heading]) - FRAME
  const fitting = (items: readonly string[], between: number): readonly string[] => {
    const end = items.findIndex((item) => (free -= Buffer.byteLength(item) + between) < 0)
    if (end === -1) return items
    return items.slice(0, end)
  }
  const rankOf = (line: number): number => ranks[line] ?? 0
  const byRank = [...lines.keys()].sort((a, b) => rankOf(a) - rankOf(b))
  const ranked = byRank.map((line) => lines[line] ?? '')
  const shownNumbers = byRank.slice(0, fitting(ranked, 1).length).sort((a, b) => a - b)
  const shownLines = shownNumbers.map((line) => lines[line])
  const shownBlocks = fitting(shownLines.length < lines.length ? [] : blocks, 2)
  if (free < 0 && shownLines.length + shownBlocks.length === 0 && space < MIN_SECTION) return []
  const left = lines.length + blocks.length - shownLines.length - shownBlocks.length
  return presentItems([
    heading,
    shownLines.length > 0 && fencedCode(shownLines.join('\n'), language),
    ...shownBlocks,
    left > 0 && `${left} more: ${codeSpan(`--part ${name}${option}`)}.`
  ])
}

function size (blocks: readonly string[]): number {
  return blocks.reduce((sum, block) => sum + Buffer.byteLength(block) + 2, 0)
}

function facts ({ token, time, duration, ip, parent, followOf, route, kind, queued }: Profile): string {
  const waited = queued === undefined ? '' : ` after ${formatTime(queued)} in the queue`
  return presentItems([
    `Profile ${codeSpan(token)}`, String(time), `${formatTime(duration)}${waited}`,
    kind === undefined && `from ${name(ip)}`,
    kind === undefined && routeFact(route),
    parent !== undefined && `${followOf ? 'redirected from' : 'parent profile'} ${name(parent)}`
  ]).join(' · ')
}

function routeFact (route: unknown): string {
  if (!isObject(route)) return 'no route matched'
  return presentItems([
    `route ${name(route.name)} (${name(route.pattern)})`,
    route.controller !== undefined && `handled by ${name(route.controller)}`,
    route.handler !== undefined && `declared at ${name(shortFile(String(route.handler)))}`
  ]).join(', ')
}

function name (value: unknown): string {
  return codeSpan(cutText(String(value), MAX_NAME))
}

function differencesSection (success: LastSuccess): Section {
  const { token, summary, title, why, isOfJob, differences } = success
  const status = statusText(summary.status, shownOutcome(summary))
  const replay = isOfJob ? '' : `Replay: ${codeSpan(`fastify-hindsight replay ${token}`)}. `
  const lines = differences.map(({ what, before, now }) => `${what}: ${before} → ${now}`)
  return {
    name: 'differences',
    order: 35,
    title,
    ...lines.length > 0 && { text: lines.join('\n') },
    blocks: presentItems([
      lines.length === 0 && NO_CAUSE,
      why !== undefined && escapeMarkdown(why),
      `Compared with profile ${codeSpan(summary.token)}, ${status}, ${escapeMarkdown(summary.time)}.`,
      `${replay}Compare: ${codeSpan(`fastify-hindsight compare ${summary.token} ${token}`)}.`
    ])
  }
}
