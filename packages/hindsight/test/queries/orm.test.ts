import t from 'tap'
import { rowsOf } from '../../src/queries/clients/orm.js'

t.test('the rows of a result of Knex, Sequelize and TypeORM', async (t) => {
  for (const [result, rows] of [
    [[{ id: 1 }, { id: 2 }], 2],
    [[], 0],
    [3, 3],
    [null, 0],
    [undefined, undefined],
    [{ rowCount: 4, rows: [] }, 4],
    [{ rows: [1, 2] }, 2],
    [{ affected: 5, raw: [] }, 5],
    [{ records: [1], raw: [] }, 1],
    [[[{ id: 1 }, { id: 2 }, { id: 3 }], [{ name: 'id' }]], 3],
    [[{ affectedRows: 7 }, undefined], 7],
    [[[{ id: 1 }], { rowCount: 1 }], 1],
    [[[{ id: 1 }], [{ id: 1 }]], 1],
    [[[], 6], 6],
    [[{ id: 1 }, 1], 1],
    [[undefined, 5], 5],
    [[{ id: 1 }, null], 1],
    [[[{ id: 1 }, { id: 2 }], 2], 2],
    ['text', undefined]
  ] as const) t.equal(rowsOf(result), rows, JSON.stringify(result))
})
