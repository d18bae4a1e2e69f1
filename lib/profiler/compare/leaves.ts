const MAX_LEAVES = 2_000
const MAX_DEPTH = 16

/** Every value of nested data under the way to it, `user.roles[0].name`; lists of plain values are one value. */
export function leavesOf (data: unknown): Map<string, unknown> {
  const leaves = new Map<string, unknown>()
  walk(data, '', 0, leaves)
  return leaves
}

function walk (value: unknown, path: string, depth: number, leaves: Map<string, unknown>): void {
  if (leaves.size >= MAX_LEAVES) return
  if (typeof value !== 'object' || value === null || depth >= MAX_DEPTH || isFlat(value)) {
    leaves.set(path === '' ? 'value' : path, value)
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => walk(item, `${path}[${i}]`, depth + 1, leaves))
  } else {
    for (const [name, item] of Object.entries(value)) walk(item, path === '' ? name : `${path}.${name}`, depth + 1, leaves)
  }
}

function isFlat (value: object): boolean {
  return Array.isArray(value) ? value.every((item) => typeof item !== 'object' || item === null) : Object.keys(value).length === 0
}
