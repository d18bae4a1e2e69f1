-- The tables of a store; docs/reference/storage-schema.md documents them. The bodies, which are many times as large, are not in the table
-- that searches scan. Triggers keep bodies, totals and head consistent, also where another program deletes rows.
create table requests (
  seq integer primary key autoincrement, token text not null unique, time text not null, duration real not null,
  method text not null, url text not null, status integer not null, ip text not null, ip_key text not null,
  route text, exception text, warnings integer not null, parent text, failure integer not null,
  pinned integer not null default 0, bytes integer not null, url_text text, exception_text text
) strict;
create index requests_by_age on requests (pinned, failure, seq, bytes);
create table bodies (seq integer primary key, json text not null) strict;
create table totals (
  pinned integer, failure integer, profiles integer not null, bytes integer not null, primary key (pinned, failure)
) strict;
insert into totals values (0, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0);
create table settings (name text primary key, value real not null) strict;
insert into settings values ('head', 0);
create trigger requests_inserted after insert on requests begin
  update totals set profiles = profiles + 1, bytes = bytes + new.bytes
    where pinned = new.pinned and failure = new.failure;
  update settings set value = new.seq where name = 'head';
end;
create trigger requests_deleted after delete on requests begin
  update totals set profiles = profiles - 1, bytes = bytes - old.bytes
    where pinned = old.pinned and failure = old.failure;
  delete from bodies where seq = old.seq;
end;
create trigger requests_pinned after update of pinned on requests begin
  update totals set profiles = profiles - 1, bytes = bytes - old.bytes
    where pinned = old.pinned and failure = old.failure;
  update totals set profiles = profiles + 1, bytes = bytes + new.bytes
    where pinned = new.pinned and failure = new.failure;
end;
create view profiles as
  select token, time, duration, method, url, status, ip, route, exception, warnings, parent, failure as error, pinned,
    bytes, json
  from requests join bodies using (seq);
