// What core takes from Node, and what stands in for it in browsers: both do the same.
import { isIP } from 'node:net'
import { cases } from '@tollgate/testing'
import { Random } from '@tollgate/testing/random'
import * as browser from '../../src/base/platform.browser.js'
import * as node from '../../src/base/platform.js'

const random = new Random(26)

const text = (alphabet: readonly string[], most: number): string =>
  Array.from({ length: random.int(0, most) }, () => random.pick(alphabet)).join('')

test('both export the same', () => {
  expect(Object.keys(browser).sort()).toEqual(Object.keys(node).sort())
})

describe('hashes', () => {
  // Lone surrogates, too: ids that differ in them must not become equal.
  const CHARACTERS = ['a', 'Z', '0', ' ', 'é', '€', '漢', '🎫', '\ud83c', '\udfab', '\0', '\uffff']

  test('SHA-256 of texts of every length around a block', () => {
    for (let length = 0; length < 200; length += 1) {
      for (const encoding of ['utf8', 'utf16le'] as const)
        expect(browser.sha256('x'.repeat(length), encoding)).toBe(node.sha256('x'.repeat(length), encoding))
    }
  })

  test('SHA-256 and HMAC of random texts', () => {
    for (let i = 0; i < cases(200, 5000); i += 1) {
      const [secret, hashed] = [text(CHARACTERS, 100), text(CHARACTERS, 100)]
      expect(browser.sha256(hashed, 'utf8')).toBe(node.sha256(hashed, 'utf8'))
      expect(browser.sha256(hashed, 'utf16le')).toBe(node.sha256(hashed, 'utf16le'))
      expect(browser.hmacSha256(secret, hashed)).toBe(node.hmacSha256(secret, hashed))
    }
  })

  test('base64url of bytes', () => {
    for (let length = 0; length < 10; length += 1) {
      const bytes = Array.from({ length }, () => random.int(0, 255))
      expect(browser.toBase64url(bytes)).toBe(node.toBase64url(bytes))
    }
  })

  test('random texts are as long, and differ', () => {
    for (const bytes of [5, 9]) {
      expect(browser.randomText(bytes)).toHaveLength(node.randomText(bytes).length)
      expect(browser.randomText(bytes)).not.toBe(browser.randomText(bytes))
    }
  })
})

describe('isIP', () => {
  test.each([
    ...[
      '10.0.0.1',
      '255.255.255.255',
      '256.1.1.1',
      '1.2.3',
      '1.2.3.4.',
      '1.2.3.4.5',
      '01.2.3.4',
      '1.2.3.4\n',
      '',
    ],
    ...[
      '::',
      '::1',
      '2001:db8::1',
      '2001:DB8::A',
      '1:2:3:4:5:6:7:8',
      '1:2:3:4:5:6:7',
      '1::2::3',
      ':::',
      '12345::',
    ],
    ...[
      '::ffff:10.0.0.1',
      '::10.0.0.256',
      '64:ff9b::1.2.3.4',
      '1:2:3:4:5:6:7:1.2.3.4',
      '::1.2.3',
      '[::1]',
      '::1]',
    ],
    ...[
      'fe80::1%eth0',
      'fe80::1%',
      'fe80::1%a%b',
      'fe80::1%a b',
      '10.0.0.1%eth0',
      'acme',
      'localhost',
      '::g',
    ],
  ])('%j', (address) => {
    expect(browser.isIP(address)).toBe(isIP(address))
  })

  test('of random texts', () => {
    const found = new Set<number>()
    const digits = ['1', '0', '25', '192']
    for (let i = 0; i < cases(3000, 100_000); i += 1) {
      const address = text([...digits, ...(i % 2 === 0 ? ['.', '.', '.'] : ['f', ':', ':', '::', '.'])], 12)
      found.add(isIP(address))
      expect([address, browser.isIP(address)]).toEqual([address, isIP(address)])
    }
    expect([...found].sort()).toEqual([0, 4, 6])
  })
})

test.each([
  ['100/min', '100/min'],
  ['100/min', '101/min'],
  [
    ['100/min', '5/s'],
    ['100/min', '5/s'],
  ],
  [['100/min', '5/s'], ['100/min']],
  [['100/min'], { 0: '100/min' }],
  [
    { limits: ['1/s'], lease: true },
    { lease: true, limits: ['1/s'] },
  ],
  [{ limits: ['1/s'], lease: undefined }, { limits: ['1/s'] }],
  [
    { limits: ['1/s'], wait: undefined },
    { limits: ['1/s'], lease: undefined },
  ],
  [{ quota: NaN }, { quota: NaN }],
  [{ quota: 0 }, { quota: -0 }],
  [null, {}],
  [null, null],
  [undefined, null],
])('plans are equal: %j and %j', (one, other) => {
  expect(browser.isDeepStrictEqual(one, other)).toBe(node.isDeepStrictEqual(one, other))
})

test('a timer acts once, unless it is cleared, and has the methods of Node', async () => {
  const acted: string[] = []
  const cleared = browser.setTimeout(() => acted.push('cleared'), 1)
  browser.clearTimeout(cleared)
  browser.clearTimeout(undefined)
  await new Promise<void>((resolve) => {
    browser
      .setTimeout(() => (acted.push('due'), resolve()), 20)
      .unref()
      .ref()
  })
  expect(acted).toEqual(['due'])
})

test('a warning goes to the console, with its code', () => {
  const warn = jest.spyOn(console, 'warn').mockImplementation(() => {})
  browser.reportWarning('TOLLGATE_PLAN', 'no such plan')
  expect(warn.mock.calls).toEqual([['[TOLLGATE_PLAN] TollgateWarning: no such plan']])
  warn.mockRestore()
})

test('nobody listens to channels, and a page is alone', () => {
  expect(browser.channel('tollgate:decision').hasSubscribers).toBe(false)
  expect(browser.isOneOfSeveral()).toBe(false)
})
