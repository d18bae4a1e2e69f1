import { mkdirSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join } from 'node:path'
import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { observe } from 'fastify-hindsight/queries'
import { seeds } from './seeds.js'

/** What an author writes. */
export interface Draft {
  title: string
  body: string
}

export interface Article extends Draft {
  id: number
  /** The language that it is written in. */
  locale: string
  /** The identifier of a user. */
  author: string
  createdAt: Date
  changedAt: Date
  /** Counts the changes. */
  version: number
}

export interface Order {
  limit: number
  offset: number
  sort: string | null
  direction: 'asc' | 'desc'
}

// Node.js has SQLite from version 22.13 on; the package for Node.js 20 has the same API.
const require = createRequire(import.meta.url)
const library = isBuiltin('node:sqlite') ? 'node:sqlite' : '@photostructure/sqlite'
const { DatabaseSync } = require(library) as typeof import('@photostructure/sqlite')

// With `autoincrement` no number is given twice, not even when the last article was deleted.
const SCHEMA = `
create table if not exists articles (
  id integer primary key autoincrement,
  title text not null,
  body text not null,
  locale text not null,
  author text not null,
  createdAt text not null,
  changedAt text not null,
  version integer not null default 1
) strict;
create index if not exists articles_by_title on articles (title collate nocase);
`

/** The articles, in an embedded database: no server to start. */
export class ArticleStore {
  readonly #database: DatabaseSyncInstance

  /** Opens a folder of articles, with the first ones where it has none; without one they live as long as the process. */
  static async open (directory?: string): Promise<ArticleStore> {
    const store = new ArticleStore(directory)
    if (store.count() > 0) return store
    for (const { locale, author, day, ...draft } of seeds) await store.create(draft, author, locale, new Date(day))
    return store
  }

  private constructor (directory?: string) {
    if (directory !== undefined) mkdirSync(directory, { recursive: true })
    // Its queries are in the profiles of the requests that send them.
    this.#database = observe(new DatabaseSync(directory === undefined ? ':memory:' : join(directory, 'articles.db')))
    this.#database.exec(`pragma busy_timeout = 5000; pragma journal_mode = wal; ${SCHEMA}`)
  }

  count (): number {
    return Number(this.#query('select count(*) as articles from articles')[0]?.articles)
  }

  find (id: number): Article | undefined {
    return this.#query('select * from articles where id = ?', id).map(articleOf)[0]
  }

  /** The numbers of all articles, the newest first. */
  ids (): number[] {
    return this.#query('select id from articles order by id desc').map(({ id }) => Number(id))
  }

  /** All articles, the newest first. */
  all (): Article[] {
    return this.#query('select * from articles order by id desc').map(articleOf)
  }

  /** One page of all articles, by title or else by date: they are numbered in the order of their dates. */
  list ({ limit, offset, sort, direction }: Order): Article[] {
    const column = sort === 'title' ? 'title collate nocase' : 'id'
    const order = direction === 'desc' ? 'desc' : 'asc'
    const sql = `select * from articles order by ${column} ${order}, id ${order} limit ? offset ?`
    return this.#query(sql, limit, offset).map(articleOf)
  }

  async create ({ title, body }: Draft, author: string, locale: string, createdAt = new Date()): Promise<Article> {
    const time = createdAt.toISOString()
    return this.#written(
      'insert into articles (title, body, locale, author, createdAt, changedAt) values (?, ?, ?, ?, ?, ?) returning *',
      title, body, locale, author, time, time
    )
  }

  async change ({ id }: Article, { title, body }: Draft): Promise<Article> {
    return this.#written(
      'update articles set title = ?, body = ?, changedAt = ?, version = version + 1 where id = ? returning *',
      title, body, new Date().toISOString(), id
    )
  }

  async remove ({ id }: Article): Promise<void> {
    this.#query('delete from articles where id = ?', id)
  }

  async close (): Promise<void> {
    this.#database.close()
  }

  #written (sql: string, ...values: Array<string | number>): Article {
    const [row] = this.#query(sql, ...values)
    if (row === undefined) throw new Error('The article was deleted meanwhile')
    return articleOf(row)
  }

  #query (sql: string, ...values: Array<string | number>): Array<Record<string, unknown>> {
    return this.#database.prepare(sql).all(...values)
  }
}

function articleOf (row: Record<string, unknown>): Article {
  const { createdAt, changedAt } = row
  return { ...row as unknown as Article, createdAt: new Date(String(createdAt)), changedAt: new Date(String(changedAt)) }
}
