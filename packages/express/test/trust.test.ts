import { serveHandler, trustContract, type Served } from '@tollgate/testing'
import express from 'express'
import { rateLimit } from '../src/index.js'

const serve = (trust: unknown) => (): Promise<Served> => {
  const app = express().set('trust proxy', trust)
  app.use(rateLimit({ limit: '1/min' }))
  app.get('/', (_req, res) => void res.send('ok'))
  return serveHandler(app)
}

trustContract('Express', [
  { typed: "app.set('trust proxy', true)", isChosen: true, serve: serve(true) },
  { typed: "app.set('trust proxy', 1)", isChosen: false, serve: serve(1) },
  {
    typed: "app.set('trust proxy', ['loopback', '10.0.0.0/8'])",
    isChosen: false,
    serve: serve(['loopback', '10.0.0.0/8']),
  },
])
