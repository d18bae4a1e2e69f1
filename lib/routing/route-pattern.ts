/** One step of a route's pattern. */
export interface PatternStep {
  /** As it is declared. */
  text: string
  isStatic: boolean
  fits: (step: string) => boolean
}

/** A route's pattern taken apart, as far as is needed to tell why it does not fit a path. */
export interface RoutePattern {
  steps: PatternStep[]
  /** Whether it takes whatever follows. */
  isOpen: boolean
  /** Whether the last step may be missing. */
  isOptional: boolean
}

/** Takes a pattern apart, in the grammar of find-my-way: parameters, several in a step, expressions, wildcards, `::` for a colon. */
export function routePattern (pattern: string): RoutePattern {
  const texts = splitSteps(pattern)
  const last = texts.at(-1) ?? ''
  const isOptional = /^:.*\?$/.test(last)
  const isOpen = last.endsWith('*')
  if (isOptional) texts[texts.length - 1] = last.slice(0, -1)
  return { steps: texts.map(step), isOpen, isOptional }
}

/** The steps of a path, percent-decoded where that is possible. */
export function pathSteps (path: string): string[] {
  return path.slice(1).split('/').map(decoded)
}

// A slash within an expression is none of the path.
function splitSteps (pattern: string): string[] {
  const steps: string[] = []
  let depth = 0
  let current = ''
  for (const char of pattern.replace(/^\//, '')) {
    if (char === '(') depth++
    if (char === ')') depth--
    if (char === '/' && depth <= 0) {
      steps.push(current)
      current = ''
    } else current += char
  }
  return [...steps, current]
}

function step (text: string): PatternStep {
  const plain = text.replaceAll('::', ':')
  if (text === '*') return { text, isStatic: false, fits: () => true }
  if (!/(?<!:):(?!:)|\*/.test(text)) return { text: plain, isStatic: true, fits: (value) => value === plain }
  const expression = expressionOf(text)
  return { text, isStatic: false, fits: (value) => value.length <= 500 && expression.test(value) }
}

// `:a-:b`, `:id(^\\d+$)`, `:file.png`, `static-:x`.
function expressionOf (text: string): RegExp {
  let source = ''
  for (let i = 0; i < text.length;) {
    const parameter = /^:(?!:)\w+/.exec(text.slice(i))
    if (parameter !== null) {
      i += parameter[0].length
      const own = text.charAt(i) === '(' ? balanced(text, i) : null
      source += own === null ? '.+?' : `(?:${own.slice(1, -1).replace(/^\^|\$$/g, '')})`
      i += own?.length ?? 0
      continue
    }
    const char = text.startsWith('::', i) ? '::' : text.charAt(i)
    source += char === '*' ? '.*' : char.charAt(0).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    i += char.length
  }
  try {
    return new RegExp(`^${source}$`)
  } catch {
    return /^.+$/
  }
}

function balanced (text: string, from: number): string {
  let depth = 0
  for (let i = from; i < text.length; i++) {
    if (text.charAt(i) === '(') depth++
    else if (text.charAt(i) === ')' && --depth === 0) return text.slice(from, i + 1)
  }
  return text.slice(from)
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
