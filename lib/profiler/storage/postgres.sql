-- The tables of profiles. Triggers keep the totals, also where another program deletes rows.
drop view if exists hindsight.profiles;
create table hindsight.profiles (
  seq bigint generated always as identity primary key, token text not null unique, time text not null,
  duration double precision not null, method text not null, url text not null, status integer not null,
  ip text not null, route text, exception text, exceptions text not null, warnings integer not null, parent text,
  error smallint not null, pinned smallint not null default 0, bytes bigint not null, json text not null
);
create index profiles_by_age on hindsight.profiles (pinned, error, seq) include (bytes);
create table hindsight.profile_totals (
  pinned smallint, error smallint, profiles bigint not null, bytes bigint not null, primary key (pinned, error)
);
insert into hindsight.profile_totals values (0, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0);
create function hindsight.count_profiles() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    update hindsight.profile_totals t set profiles = t.profiles - n, bytes = t.bytes - b from (
      select pinned p, error e, count(*) n, sum(bytes) b from old_rows group by p, e
    ) o where t.pinned = p and t.error = e;
  end if;
  if tg_op <> 'DELETE' then
    update hindsight.profile_totals t set profiles = t.profiles + n, bytes = t.bytes + b from (
      select pinned p, error e, count(*) n, sum(bytes) b from new_rows group by p, e
    ) o where t.pinned = p and t.error = e;
  end if;
  return null;
end $$;
create trigger profiles_inserted after insert on hindsight.profiles
  referencing new table as new_rows for each statement execute function hindsight.count_profiles();
create trigger profiles_deleted after delete on hindsight.profiles
  referencing old table as old_rows for each statement execute function hindsight.count_profiles();
create trigger profiles_pinned after update on hindsight.profiles
  referencing old table as old_rows new table as new_rows
  for each statement execute function hindsight.count_profiles();
