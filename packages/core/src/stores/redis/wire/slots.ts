const SLOTS = 16_384

/** The slot of a key in a Redis Cluster, from the text in its first braces or, without braces, from the whole key. */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  return crc16(open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key) % SLOTS
}

/** CRC-16/XMODEM, of the text in UTF-8, as Redis computes it. */
function crc16(text: string): number {
  let crc = 0
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    // Tags of shards are digits. Making a Buffer of each would take longer than all else.
    if (code > 127) return Buffer.from(text).reduce(withByte, 0)
    crc = withByte(crc, code)
  }
  return crc
}

function withByte(before: number, byte: number): number {
  let crc = before ^ (byte << 8)
  for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  return crc
}

/**
 * One tag per shard. All slots are divided evenly among the shards, and the slot of a shard's tag lies in the middle
 * half of its part. Tags are part of keys in Redis, so the results must never change.
 */
export function shardTags(count: number): readonly string[] {
  const tags: string[] = new Array(count)
  let found = 0
  for (let n = 0; found < count; n += 1) {
    const share = (crc16(String(n)) % SLOTS) * (count / SLOTS)
    const shard = Math.floor(share)
    const place = share - shard
    if (tags[shard] !== undefined || place < 0.25 || place > 0.75) continue
    tags[shard] = String(n)
    found += 1
  }
  return tags
}
