import { S, testMasks, type Row } from './masked.js'

const documents: readonly Row[] = [
  ['prisma', 'User.findMany', { where: { data: { path: ['password'], equals: S }, name: 'ann' } }, [S], []],
  ['prisma', 'User.findMany', { where: { data: { path: '$.password', string_contains: S }, name: 'ann' } }, [S], []],
  ['prisma', 'Setting.update', { where: { key: 'smtp_password' }, data: { value: S, by: 'ann' } }, [S], []],
  ['mongodb', 'u.find', [{ $expr: { $regexMatch: { input: '$password', regex: S } } }], [S], []],
  ['mongodb', 'u.find', [{ $expr: { $eq: ['$password', S] }, name: 'ann' }], [S], []],
  ['mongodb', 'u.find', [{ $expr: { $eq: [{ $toLower: '$user.password' }, { $literal: S }] } }], [S], []],
  ['mongodb', 'u.aggregate', [[{ $match: { name: 'ann' } }, { $project: { p: '$password', name: 1 } }, { $match: { p: S } }]], [S], []],
  ['mongodb', 'u.aggregate',
    [[{ $lookup: { from: 'users', let: { p: '$password' }, pipeline: [{ $match: { $expr: { $eq: ['$$p', S] } } }], as: 'u' } }]], [S], []],
  ['mongodb', 'u.aggregate', { pipeline: [{ $match: { $expr: { $eq: ['$token', '$$given'] } } }], let: { given: S, name: 'ann' } }, [S], []],
  ['mongodb', 'u.find', [{ $where: "this.password == 'Hidd3n'" }], [S], []],
  ['mongodb', 'u.find', [{ $expr: { $eq: [{ $getField: 'password' }, S] } }], [S], []],
  ['mongodb', 'u.aggregate', [[{ $search: { text: { path: 'password', query: S } } }]], [S], []],
  ['mongodb', 'u.aggregate', [[{ $project: { ok: { $cond: [{ $in: ['$pin', [S]] }, 'x', 'y'] }, name: '$name' } }]], [S], []],
  ['dynamodb', 'u.update', { Key: { id: 7700 }, UpdateExpression: 'set #p = :p', Names: { '#p': 'password' }, Values: { ':p': { S } } }, [S], []],
  ['mongodb', 'u.updateOne', [{ key: 'smtp_password' }, { $set: { value: S, by: 'ann' } }], [S], []],
  ['mongodb', 'u.find', [{ type: { $in: ['login', 'logout'] }, token: S }], [S], ['login']],
  ['mongodb', 'u.aggregate', [[{ $set: { password: { $concat: [S, '$salt'] }, name: 'ann' } }]], [S], []],
  ['mongodb', 'u.aggregate', [[{ $set: { x: { $function: { body: 'return this.pin', args: [S], lang: 'js' } } } }]], [S], []],
  ['mongodb', 'u.aggregate',
    [[{ $project: { t: '$token' } }, { $group: { _id: '$t' } }, { $match: { _id: S, city: 'Rome' } }, { $skip: 100 }]], [S], []]
]

testMasks('a document whose texts have a secret name has no values', documents)
