-- Creates what is missing in a store; docs/reference/storage-schema.md documents it. The JSON is the last column: a search does not
-- read what follows the other ones. The indexes of searches are in the order of `seq`, in which a search reads them until
-- its page is full; sql.ts has their conditions, too. Triggers keep the totals, also where another program deletes rows.
create table if not exists profiles (
  seq integer primary key autoincrement, token text not null unique, time text not null, duration real not null,
  method text not null, url text not null, status integer not null, ip text not null, route text, exception text,
  exceptions text not null, warnings integer not null, parent text, error integer not null,
  pinned integer not null default 0, bytes integer not null, json text not null
) strict;
create index if not exists profiles_by_error on profiles (error, seq, pinned, bytes);
create index if not exists profiles_by_status on profiles (seq, status) where status >= 300;
create index if not exists profiles_by_duration on profiles (seq, duration) where duration >= 100;
create index if not exists profiles_by_time on profiles (seq, time) where time > '';
create index if not exists profiles_by_parent on profiles (parent) where parent is not null;
create table if not exists profile_totals (
  pinned integer, error integer, profiles integer not null, bytes integer not null, primary key (pinned, error)
) strict, without rowid;
create table if not exists form_secret (secret text not null) strict;
insert into form_secret select hex(randomblob(32)) where not exists (select 1 from form_secret);
create trigger if not exists profiles_inserted after insert on profiles begin
  update profile_totals set profiles = profiles + 1, bytes = bytes + new.bytes where pinned = new.pinned and error = new.error;
end;
create trigger if not exists profiles_deleted after delete on profiles begin
  update profile_totals set profiles = profiles - 1, bytes = bytes - old.bytes where pinned = old.pinned and error = old.error;
end;
create trigger if not exists profiles_pinned after update of pinned on profiles begin
  update profile_totals set profiles = profiles - 1, bytes = bytes - old.bytes where pinned = old.pinned and error = old.error;
  update profile_totals set profiles = profiles + 1, bytes = bytes + new.bytes where pinned = new.pinned and error = new.error;
end;
delete from profile_totals;
insert into profile_totals
  select column1, column2, count(seq), coalesce(sum(bytes), 0) from (values (0, 0), (0, 1), (1, 0), (1, 1))
  left join profiles on pinned = column1 and error = column2 group by column1, column2;
