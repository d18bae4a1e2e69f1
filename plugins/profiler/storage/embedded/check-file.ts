import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

// What LMDB's files look like. It maps a file into memory and believes it: one that is cut short or overwritten ends the process.
const MAGIC = 0xBEEFC0DE
const VERSION = 2
const HEADER = 24
const BRANCH = 1
const LEAF = 2
const OVERFLOW = 4
const META = 8
// Of pages and values with several values to a key, which no store of ours has.
const DUPLICATES_PAGE = 0x60
const KNOWN = 3
const OVERFLOWS = 1
const SUB_DATABASE = 2
const DATABASE_BYTES = 48
const NO_PAGE = 0xFFFFFFFFFFFFFFFFn
const META_BYTES = HEADER + 24 + 2 * DATABASE_BYTES + 16
const MAX_DEPTH = 32

const TRIES = 3
/** A large store is looked at for so long, from the roots down. */
const PATIENCE = 40

interface Tree {
  page: number
  depth: number
  /** Whether it lists the pages that are free. */
  free?: boolean
}

class Damage extends Error {}

/** Why a file is no sound store, as far as a short look can tell; undefined where nothing is wrong. */
export function damageOf (path: string): string | undefined {
  const file = openSync(path, 'r')
  try {
    if (fstatSync(file).size === 0) return undefined
    for (let tries = 1; ; tries++) {
      const before = metaOf(file)
      try {
        walk(file, before.pageSize, before.trees)
        return undefined
      } catch (error) {
        if (!(error instanceof Damage)) throw error
        // Someone else may have written meanwhile: then what was read belongs to no state of the store, and it is in good hands.
        if (metaOf(file).transaction === before.transaction) return error.message
        if (tries >= TRIES) return undefined
      }
    }
  } catch (error) {
    if (error instanceof Damage) return error.message
    throw error
  } finally {
    closeSync(file)
  }
}

function metaOf (file: number): { pageSize: number, transaction: bigint, trees: Tree[] } {
  const first = read(file, 0, META_BYTES)
  const pageSize = first.readUInt32LE(HEADER + 24)
  if (first.readUInt32LE(HEADER) !== MAGIC) throw new Damage('it is no store')
  if (first.readUInt32LE(HEADER + 4) !== VERSION) throw new Damage('it is of another version of LMDB')
  if (pageSize < 512 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) throw new Damage('its first page is damaged')
  const metas = [first, read(file, pageSize, META_BYTES)]
  for (const meta of metas) {
    const isSound = meta.readUInt32LE(HEADER) === MAGIC && meta.readUInt32LE(HEADER + 4) === VERSION &&
      meta.readUInt32LE(HEADER + 24) === pageSize && meta.readUInt16LE(18) === META
    if (!isSound) throw new Damage('its first pages are damaged')
  }
  const transactionOf = (meta: Buffer): bigint => meta.readBigUInt64LE(META_BYTES - 8)
  const newest = metas.reduce((a, b) => transactionOf(b) > transactionOf(a) ? b : a)
  const trees = [HEADER + 24, HEADER + 24 + DATABASE_BYTES].flatMap((at, i) => treeAt(newest, at, i === 0))
  return { pageSize, transaction: transactionOf(newest), trees }
}

function treeAt (buffer: Buffer, at: number, free = false): Tree[] {
  const root = buffer.readBigUInt64LE(at + 40)
  const depth = buffer.readUInt16LE(at + 6)
  if (root === NO_PAGE) return []
  if (depth === 0 || depth > MAX_DEPTH) throw new Damage('a tree is damaged')
  return [{ page: Number(root), depth, free }]
}

/** Breadth first, so that what most depends on is looked at first. */
function walk (file: number, pageSize: number, trees: Tree[]): void {
  const until = performance.now() + PATIENCE
  const pages = Math.floor(fstatSync(file).size / pageSize)
  const check = (first: number, count: number): void => {
    if (!(first >= 2 && count >= 1 && first + count <= pages)) throw new Damage('it was cut short, or a page is damaged')
  }
  const overflow = (first: number, count: number, bytes: number): void => {
    check(first, count)
    if (bytes + HEADER > count * pageSize) throw new Damage('a page is damaged')
    if (performance.now() > until) return
    const header = read(file, first * pageSize, HEADER)
    if (header.readBigUInt64LE(0) !== BigInt(first) || (header.readUInt16LE(18) & OVERFLOW) === 0 || header.readUInt32LE(20) !== count) throw new Damage('a page is damaged')
  }
  for (let level = trees; level.length > 0;) {
    const next: Tree[] = []
    for (const { page, depth, free = false } of level) {
      if (performance.now() > until) return
      check(page, 1)
      const buffer = read(file, page * pageSize, pageSize)
      if (buffer.readBigUInt64LE(0) !== BigInt(page) || (buffer.readUInt16LE(18) & (BRANCH | LEAF | DUPLICATES_PAGE)) !== (depth > 1 ? BRANCH : LEAF)) throw new Damage('a page is damaged')
      try {
        next.push(...depth > 1 ? branches(buffer, depth, free) : leaves(buffer, overflow))
        if (free && depth === 1) freeLists(buffer, file, pageSize, pages)
      } catch (error) {
        throw error instanceof RangeError ? new Damage('a page is damaged') : error
      }
    }
    level = next
  }
}

function branches (page: Buffer, depth: number, free: boolean): Tree[] {
  return nodesOf(page).map((at) => {
    if (at + 8 + page.readUInt16LE(at + 6) > page.length) throw new Damage('a page is damaged')
    return { page: page.readUInt32LE(at) + page.readUInt16LE(at + 4) * 2 ** 32, depth: depth - 1, free }
  })
}

/** Values that lie elsewhere must be within the file; databases within the database are walked too. */
function leaves (page: Buffer, check: (first: number, count: number, bytes: number) => void): Tree[] {
  return nodesOf(page).flatMap((at) => {
    const flags = page.readUInt16LE(at + 4)
    const value = at + 8 + page.readUInt16LE(at + 6)
    const bytes = page.readUInt32LE(at)
    if ((flags & ~KNOWN) !== 0) throw new Damage('a page is damaged')
    if ((flags & OVERFLOWS) !== 0) check(Number(page.readBigUInt64LE(value)), Number(page.readBigUInt64LE(value + 16)), bytes)
    else if (value + bytes > page.length) throw new Damage('a page is damaged')
    return (flags & SUB_DATABASE) === 0 ? [] : treeAt(page, value)
  })
}

/** Which pages are free: LMDB believes how many are listed, and writes to them. */
function freeLists (page: Buffer, file: number, pageSize: number, pages: number): void {
  for (const at of nodesOf(page)) {
    const value = at + 8 + page.readUInt16LE(at + 6)
    const bytes = page.readUInt32LE(at)
    const list = (page.readUInt16LE(at + 4) & OVERFLOWS) === 0
      ? page.subarray(value, value + bytes)
      : read(file, Number(page.readBigUInt64LE(value)) * pageSize + HEADER, Math.min(bytes, pages * 8 + 8))
    const count = list.readBigUInt64LE(0)
    if ((count + 1n) * 8n > BigInt(list.length)) throw new Damage('its list of free pages is damaged')
    for (let i = 1; i <= Number(count); i++) {
      const id = list.readBigInt64LE(8 * i)
      // Less than none: how many in a row.
      if ((id < 0n ? -id : id) >= BigInt(pages)) throw new Damage('its list of free pages is damaged')
    }
  }
}

function nodesOf (page: Buffer): number[] {
  const lower = page.readUInt16LE(20)
  const upper = page.readUInt16LE(22)
  if (lower > upper || upper + HEADER > page.length) throw new Damage('a page is damaged')
  return Array.from({ length: lower >> 1 }, (_, i) => {
    const at = HEADER + page.readUInt16LE(HEADER + 2 * i)
    if (at < HEADER + upper || at + 8 > page.length) throw new Damage('a page is damaged')
    return at
  })
}

function read (file: number, at: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes)
  if (readSync(file, buffer, 0, bytes, at) < bytes) throw new Damage('it was cut short')
  return buffer
}
