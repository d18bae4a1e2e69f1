-- The tables of profiles. Triggers keep bodies, totals and head consistent, also where another program deletes rows.
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
    bytes, replace(json, '\u0000', '\ufffd')::json as json from hindsight.requests join hindsight.bodies using (seq);
