import { clientOf, namesOf, serveHandler, type Served } from '@tollgate/testing'
import express5 from 'express'
import express4 from 'express4'
import { rateLimit } from '../src/index.js'

describe.each([
  ['4', express4 as unknown as typeof express5],
  ['5', express5],
])('Express %s', (_, express) => {
  let served: Served
  afterEach(() => served.close())

  test('a decision cannot take the place of anything that requests have', async () => {
    const app = express().get('/items/:id', (req, res) => void res.json(namesOf(req)))
    served = await serveHandler(app)
    const names = (await (await clientOf(async () => served).get('items/1')).json()) as string[]
    expect(names).toEqual(expect.arrayContaining(['fresh', 'get', 'next', 'params', 'socket']))
    for (const requestProperty of names) {
      expect(() => rateLimit({ limit: '1/min', requestProperty })).toThrow(
        expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'requestProperty' }),
      )
    }
  })
})
