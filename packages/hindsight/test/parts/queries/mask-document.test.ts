import { S, testMasks, type Row } from './masked.js'

const documents: readonly Row[] = [
  ['prisma', 'User.findMany', { where: { data: { path: ['password'], equals: S }, name: 'ann' } }, [S], ['ann']],
  ['prisma', 'User.findMany', { where: { data: { path: '$.password', string_contains: S }, name: 'ann' } }, [S], ['ann']],
  ['prisma', 'Setting.update', { where: { key: 'smtp_password' }, data: { value: S, by: 'ann' } }, [S], ['ann']],
  ['mongodb', 'u.find', [{ $expr: { $regexMatch: { input: '$password', regex: S } } }], [S], ['$password']],
  ['mongodb', 'u.find', [{ $expr: { $eq: ['$password', S] }, name: 'ann' }], [S], ['ann']],
  ['mongodb', 'u.find', [{ $expr: { $eq: [{ $toLower: '$user.password' }, { $literal: S }] } }], [S], []],
  ['mongodb', 'u.aggregate', [[{ $match: { name: 'ann' } }, { $project: { p: '$password', name: 1 } }, { $match: { p: S } }]], [S], ['ann']],
  ['mongodb', 'u.aggregate',
    [[{ $lookup: { from: 'users', let: { p: '$password' }, pipeline: [{ $match: { $expr: { $eq: ['$$p', S] } } }], as: 'u' } }]], [S], ['users']],
  ['mongodb', 'u.aggregate', { pipeline: [{ $match: { $expr: { $eq: ['$token', '$$given'] } } }], let: { given: S, name: 'ann' } }, [S], ['ann']],
  ['mongodb', 'u.find', [{ $where: "this.password == 'Hidd3n'" }], [S], []],
  ['mongodb', 'u.find', [{ $expr: { $eq: [{ $getField: 'password' }, S] } }], [S], []],
  ['mongodb', 'u.aggregate', [[{ $search: { text: { path: 'password', query: S } } }]], [S], []],
  ['mongodb', 'u.aggregate', [[{ $project: { ok: { $cond: [{ $in: ['$pin', [S]] }, 'x', 'y'] }, name: '$name' } }]], [S], ['$name']],
  ['mongodb', 'u.aggregate',
    [[{ $match: { status: 'active' } }, { $group: { _id: '$token', n: { $sum: 1 } } }, { $sort: { n: -1 } }, { $limit: 100 }]], [], ['active', '100']],
  ['dynamodb', 'u.update', { Key: { id: 7700 }, UpdateExpression: 'set #p = :p', Names: { '#p': 'password' }, Values: { ':p': { S } } }, [S], ['7700']],
  ['mongodb', 'u.updateOne', [{ key: 'smtp_password' }, { $set: { value: S, by: 'ann' } }], [S], ['ann']],
  ['mongodb', 'u.find', [{ type: { $in: ['login', 'logout'] }, token: S }], [S], ['login']],
  ['mongodb', 'u.aggregate', [[{ $set: { password: { $concat: [S, '$salt'] }, name: 'ann' } }]], [S], ['ann']],
  ['mongodb', 'u.aggregate', [[{ $set: { x: { $function: { body: 'return this.pin', args: [S], lang: 'js' } } } }]], [S], []],
  ['mongodb', 'u.aggregate', [[{ $project: { t: '$token' } }, { $group: { _id: '$t' } }, { $match: { _id: S, city: 'Rome' } }, { $skip: 100 }]],
    [S], ['Rome', '100']],
  ['mongodb', 'u.find', [{ title: { $regex: 'token' }, type: 'password_reset', price: { $gt: 500 } }], [], ['500', 'password_reset']]
]

testMasks('values that are compared with a secret field are masked, whatever the operator', documents)
