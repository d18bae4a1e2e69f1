import { escapeLike, type Query, type Row, type SqlDatabase } from './sql.js'
import { StorageClosedError, StorageUnusableError } from './storage.js'
import { createTables, openPool, withClient } from '../../postgres.js'

/** The advisory lock of writers: one at a time, so that the order of `seq` is that of the commits. */
const WRITE_LOCK = 0x48696E64
const MAX_CONNECTIONS = 4

/** A database of PostgreSQL, for services on several machines: each reads what any of them wrote. */
export class PostgresDatabase implements SqlDatabase {
  readonly engine = 'postgres'
  readonly place: string
  readonly schema = 'hindsight.'
  readonly #pool: ReturnType<typeof openPool>
  #preparing: Promise<void> | null = null
  #closing: Promise<void> | null = null

  /** `url`: as `postgres://user:password@host:5432/database`. */
  constructor (url: string) {
    const { protocol, host, pathname } = URL.canParse(url) ? new URL(url) : { protocol: '', host: '', pathname: '' }
    if (host === '' && pathname.length < 2) {
      const example = 'postgres://user:password@localhost:5432/hindsight'
      throw new Error(`profiler.storage (STORAGE_URL): this is not an address such as ${example}`)
    }
    this.place = `${protocol}//${host}${pathname}`
    this.#pool = openPool(url, MAX_CONNECTIONS)
  }

  matches = (column: string): string => `${column} like ? escape '!'`
  pattern = (text: string): string => escapeLike(text).replaceAll('*', '%')
  pause = async (): Promise<void> => {}
  close = async (): Promise<void> => await (this.#closing ??= this.#pool.end())

  async read<T> (work: (query: Query) => Promise<T>): Promise<T> {
    if (this.#closing !== null) throw new StorageClosedError(this.place)
    try {
      await (this.#preparing ??= createTables(this.#pool, 'hindsight.requests', PROFILE_TABLES))
      return await withClient(this.#pool, async (client) => await work(async (sql, values = []) => {
        let number = 0
        return (await client.query<Row>(sql.replace(/\?/g, () => `$${++number}`), [...values])).rows
      }))
    } catch (error) {
      if (error instanceof Error && 'statusCode' in error) throw error
      // The tables may be missing: the next use checks for them.
      this.#preparing = null
      const { message, code } = error as NodeJS.ErrnoException
      throw new StorageUnusableError(this.place, message || code)
    }
  }

  async write<T> (work: (query: Query) => Promise<T>): Promise<T> {
    return await this.read(async (query) => {
      await query('begin')
      await query('select pg_advisory_xact_lock(?)', [WRITE_LOCK])
      const result = await work(query)
      await query('commit')
      return result
    })
  }
}

/** The tables of profiles. Triggers keep bodies, totals and head in step, also where another program deletes rows. */
const PROFILE_TABLES = `
create table hindsight.requests (
  seq bigint generated always as identity primary key, token text not null unique, time text not null,
  duration double precision not null, method text not null, url text not null, status integer not null,
  ip text not null, ip_key text not null, route text, exception text, warnings integer not null, parent text,
  failure smallint not null, pinned smallint not null default 0, bytes bigint not null,
  url_text text, exception_text text
);
create index requests_by_age on hindsight.requests (pinned, failure, seq) include (bytes);
create table hindsight.bodies (
  seq bigint primary key references hindsight.requests on delete cascade, json text not null
);
create table hindsight.totals (
  pinned smallint, failure smallint, profiles bigint not null, bytes bigint not null, primary key (pinned, failure)
);
insert into hindsight.totals values (0, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0);
create table hindsight.settings (name text primary key, value double precision not null);
insert into hindsight.settings values ('head', 0);
create function hindsight.count_requests() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    update hindsight.totals t set profiles = t.profiles - n, bytes = t.bytes - b from (
      select pinned p, failure f, count(*) n, sum(bytes) b from old_rows group by p, f
    ) o where t.pinned = p and t.failure = f;
  end if;
  if tg_op <> 'DELETE' then
    update hindsight.totals t set profiles = t.profiles + n, bytes = t.bytes + b from (
      select pinned p, failure f, count(*) n, sum(bytes) b from new_rows group by p, f
    ) o where t.pinned = p and t.failure = f;
    update hindsight.settings set value = greatest(value, (select max(seq) from new_rows)) where name = 'head';
  end if;
  return null;
end $$;
create trigger requests_inserted after insert on hindsight.requests
  referencing new table as new_rows for each statement execute function hindsight.count_requests();
create trigger requests_deleted after delete on hindsight.requests
  referencing old table as old_rows for each statement execute function hindsight.count_requests();
create trigger requests_pinned after update on hindsight.requests
  referencing old table as old_rows new table as new_rows
  for each statement execute function hindsight.count_requests();
create view hindsight.profiles as
  select token, time, duration, method, url, status, ip, route, exception, warnings, parent, failure as error, pinned,
    bytes, replace(json, '\\u0000', '\\ufffd')::json as json from hindsight.requests join hindsight.bodies using (seq);
`
