-- Creates what is missing in a store. Triggers keep the totals, also where another program deletes rows.
do $$ begin drop view hindsight.profiles; exception when undefined_table or wrong_object_type then null; end $$;
create table if not exists hindsight.profiles ();
alter table hindsight.profiles
  add column if not exists seq bigint generated always as identity primary key,
  add column if not exists token text not null default md5(random()::text),
  add column if not exists time text not null default '', add column if not exists duration double precision not null default 0,
  add column if not exists method text not null default '', add column if not exists url text not null default '',
  add column if not exists status integer not null default 0, add column if not exists ip text not null default '',
  add column if not exists route text, add column if not exists exception text,
  add column if not exists exceptions text not null default '', add column if not exists warnings integer not null default 0,
  add column if not exists parent text, add column if not exists error smallint not null default 0,
  add column if not exists pinned smallint not null default 0, add column if not exists bytes bigint not null default 0,
  add column if not exists json text not null default '';
create unique index if not exists profiles_token_key on hindsight.profiles (token);
create index if not exists profiles_by_error on hindsight.profiles (error, seq) include (pinned, bytes);
create index if not exists profiles_by_status on hindsight.profiles (seq, status) where status >= 300;
create index if not exists profiles_by_duration on hindsight.profiles (seq, duration) where duration >= 100;
create index if not exists profiles_by_time on hindsight.profiles (seq, time) where time > '';
create index if not exists profiles_by_parent on hindsight.profiles (parent) where parent is not null;
create table if not exists hindsight.profile_totals ();
alter table hindsight.profile_totals
  add column if not exists pinned smallint, add column if not exists error smallint,
  add column if not exists profiles bigint not null default 0, add column if not exists bytes bigint not null default 0;
create table if not exists hindsight.form_secret (secret text not null);
insert into hindsight.form_secret
  select gen_random_uuid()::text || gen_random_uuid() where not exists (select from hindsight.form_secret);
create or replace function hindsight.count_profiles() returns trigger language plpgsql as $$
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
create or replace trigger profiles_inserted after insert on hindsight.profiles
  referencing new table as new_rows for each statement execute function hindsight.count_profiles();
create or replace trigger profiles_deleted after delete on hindsight.profiles
  referencing old table as old_rows for each statement execute function hindsight.count_profiles();
create or replace trigger profiles_pinned after update on hindsight.profiles
  referencing old table as old_rows new table as new_rows
  for each statement execute function hindsight.count_profiles();
delete from hindsight.profile_totals;
insert into hindsight.profile_totals (pinned, error, profiles, bytes)
  select column1, column2, count(seq), coalesce(sum(bytes), 0) from (values (0, 0), (0, 1), (1, 0), (1, 1)) groups
  left join hindsight.profiles on pinned = column1 and error = column2 group by column1, column2;
