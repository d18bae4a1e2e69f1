import { DatabaseSync } from '@photostructure/sqlite'
import type { FastifyInstance } from 'fastify'
import { observe, recordQuery } from '../../../src/queries/observe.js'
import type { Profile } from '../../../src/store/profile.js'
import type { Finding, RecordedQuery } from '../../../src/parts/queries/recorded-query.js'
import type { QueryGroup } from '../../../src/parts/queries/groups.js'

/** The data of the part in the JSON of a profile. */
export interface Queries {
  count: number
  duration: number
  failed: number
  queries: Array<Omit<RecordedQuery, 'function'>>
  groups: QueryGroup[]
  findings: Finding[]
}

export function queriesOf ({ collectors }: Profile): Queries {
  return collectors.queries as Queries
}

export type Database = InstanceType<typeof DatabaseSync>

/** An observed database with 24 articles, each of another author. */
export function articles (): Database {
  const database = new DatabaseSync(':memory:')
  database.exec('create table users (id integer primary key, name text, api_token text); ' +
    'create table articles (id integer primary key, title text, author integer)')
  for (let id = 1; id <= 24; id++) {
    database.prepare('insert into users (name, api_token) values (?, ?)').run(`User ${id}`, `token ${id}`)
    database.prepare('insert into articles (title, author) values (?, ?)').run(`Title ${id}`, id)
  }
  return observe(database)
}

/** The error of PostgreSQL for an unknown column. */
export function unknownColumn (position: number): Error {
  return Object.assign(new Error('column "titel" does not exist'), { code: '42703', position: String(position), hint: 'Perhaps "title".' })
}

export const BROKEN = 'select id, titel\nfrom articles\nwhere author = $1 and api_token = $2'

/** Declares `/articles` with 26 queries, `/broken/:id` with a query that fails, and `/none`. */
export function declareArticles (app: FastifyInstance): void {
  const database = articles()
  app.addHook('preHandler', async function authenticate () {
    database.prepare('select id from users where api_token = ?').get('token 1')
  })
  app.get('/articles', async (request, reply) => {
    const found = database.prepare('select id, author from articles order by id').all() as Array<{ author: number }>
    const names = found.map(({ author }) => database.prepare('select name from users where id = ?').get(author))
    return await reply.type('text/html').send(`<html><body>${names.length}</body></html>`)
  })
  app.get<{ Params: { id: string } }>('/broken/:id', async ({ params: { id } }) => {
    if (id === 'fine') return database.prepare('select name from users where id = ?').get(1)
    database.prepare('select name from users where id = ?').get(3)
    const end = recordQuery({ system: 'postgresql', statement: BROKEN, parameters: [17, ['hidden', 'value'].join('-')] })
    const error = unknownColumn(12)
    end({ error })
    throw error
  })
  app.get('/none', { config: { profile: true } }, async () => 'none')
}
