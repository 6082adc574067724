import { metrics } from '@opentelemetry/api'
import { createLimiter, type Limiter } from '@tollgate/core'
import { instrument, instrumentAll, type InstrumentOptions } from '../src/index.js'

const limiter = createLimiter({ limit: '5/min' })

describe('a mistake is a ConfigError at once', () => {
  test.each<[string, unknown, string]>([
    ['an unknown option', { meterprovider: {} }, 'meterprovider'],
    ['no options', null, 'options'],
    ['a provider that is none', { meterProvider: {} }, 'meterProvider'],
    ['a meter that is none', { meter: metrics }, 'meter'],
    ['a meter and a provider', { meter: metrics.getMeter('x'), meterProvider: metrics }, 'meter'],
    ['attributes that are a list', { attributes: ['a'] }, 'attributes'],
    ['an attribute that is an object', { attributes: { a: {} } }, 'attributes["a"]'],
    ['an attribute that is not there', { attributes: { a: undefined } }, 'attributes["a"]'],
    [
      'an attribute of Tollgate',
      { attributes: { 'tollgate.plan.name': 'x' } },
      'attributes["tollgate.plan.name"]',
    ],
    ['a subject attribute that is a name', { subjectAttribute: 'id' }, 'subjectAttribute'],
  ])('%s', (_, options, path) => {
    const expected = expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path })
    expect(() => instrument(limiter, options as InstrumentOptions)).toThrow(expected)
    expect(() => instrumentAll(options as InstrumentOptions)).toThrow(expected)
  })

  test.each([[undefined], [null], [{}], [(): void => {}]])('a limiter that is %p', (given) => {
    expect(() => instrument(given as unknown as Limiter)).toThrow(
      /limiter: got .*, expected what createLimiter returned, or rateLimit\(\.\.\.\)\.limiter/,
    )
  })
})
