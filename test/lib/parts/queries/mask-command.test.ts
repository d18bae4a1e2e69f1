import { S, testMasks, type Row } from './masked.js'

const commands: readonly Row[] = [
  ['redis', 'JSON.SET', ['key', '$.password', '"Hidd3n"'], [S], ['key', '$.password']],
  ['redis', 'XADD', ['s', 'MAXLEN', '~', '100', '*', 'password', S], [S], ['MAXLEN', '100', 'password']],
  ['redis', 'HSETEX', ['user:1', 'FNX', 'EX', '60', 'FIELDS', '1', 'password', S], [S], ['60']],
  ['redis', 'MSETEX', ['2', 'token:1', S, 'token:2', S, 'EX', '60'], [S], ['60']],
  ['redis', 'SENTINEL', ['SET', 'm', 'auth-pass', S], [S], ['m']],
  ['redis', 'SENTINEL SET', ['m', 'auth-pass', S], [S], ['m']],
  ['redis', 'EVAL', ["redis.call('set', 'token', ARGV[1])", '1', 'user:5', S], [S], ['user:5']],
  ['redis', 'EVALSHA', ['abc', '1', 'token:5', S], [S], ['token:']],
  ['redis', 'EVALSHA', ['abc', '1', 'user:5', 'password', S], [S], ['user:5']],
  ['redis', 'EVALSHA', ['abc', '1', 'rate:5', '100', '60'], [], ['100', '60']],
  ['redis', 'ZADD', ['tokens', '1', S], [S], []],
  ['redis', 'HGET', ['tokens', S], [S], ['tokens']],
  ['redis', 'HGET', ['user:1', 'password'], [], ['password']],
  ['redis', 'HMGET', ['user:1', 'password', 'name'], [], ['name']],
  ['redis', 'SET', ['user:1:token', S], [S], ['user:1:token']],
  ['redis', 'set', ['USER:1:TOKEN', S, 'PX', '6000', 'NX'], [S], ['6000', 'NX']],
  ['redis', 'MIGRATE', ['h', '6379', 'k', '0', '5000', 'AUTH', S], [S], ['6379']],
  ['redis', 'FT.SEARCH', ['idx', '@password:{Hidd3n}'], [S], ['idx']],
  ['redis', 'EXPIRE', ['session:1', '3600'], [], ['3600']],
  ['redis', 'LRANGE', ['tokens', '0', '-1'], [], ['-1']],
  ['redis', 'DEL', ['token:1', 'token:2'], [], ['token:']],
  ['redis', 'SET', ['user:77', 'ann', 'EX', 60], [], ['ann', '60']],
  ['redis', 'HSET', ['user:1', { name: 'ann', password: S }], [S], ['ann']],
  ['redis', 'JSON.MSET', ['doc', '$.a', '1', 'doc', '$.password', S], [S], ['$.a']],
  ['redis', 'JSON.MERGE', ['doc', '$', '{"password":"Hidd3n","name":"ann"}'], [S], ['ann']],
  ['redis', 'HSETNX', ['user:1', 'api_key', S], [S], ['api_key']],
  ['redis', 'SMOVE', ['sessions', 'old', S], [S], []],
  ['redis', 'LINSERT', ['tokens', 'BEFORE', S, S], [S], []],
  ['redis', 'CONFIG', ['SET', 'masteruser', 'ann', 'masterauth', S], [S], ['ann']],
  ['redis', 'ACL', ['SETUSER', 'ann', '>' + S], [S], ['ann']],
  ['redis', 'PUBLISH', ['password-reset', S], [S], []],
  ['redis', 'BF.ADD', ['used_tokens', S], [S], []],
  ['redis', 'XADD', ['events', '*', 'type', 'login', 'user', 'ann'], [], ['login', 'ann']]
]

testMasks('arguments after a secret name are masked, unless they are certainly something else', commands)
