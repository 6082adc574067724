// Takes turns: every contender has one cell in every round, and the order moves on by one each round.

/**
 * @param {Map<string, unknown>} contenders
 * @param {number} rounds
 * @param {(name: string, contender: any, round: number) => Promise<Record<string, number>>} cell measures once
 * @returns {Promise<Record<string, Record<string, number[]>>>} by name and figure, one value a round
 */
export async function takeTurns(contenders, rounds, cell) {
  const names = [...contenders.keys()]
  const rows = Object.fromEntries(names.map((name) => [name, {}]))
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(turn + round) % names.length]
      const figures = await cell(name, contenders.get(name), round)
      for (const [figure, value] of Object.entries(figures)) (rows[name][figure] ??= []).push(value)
    }
  }
  return rows
}

/** Runs `work`. @returns its result, and how many µs of wall time and of this process's CPU time it took */
export async function timed(work) {
  const cpu = process.cpuUsage()
  const start = performance.now()
  const result = await work()
  const wallUs = (performance.now() - start) * 1000
  const { user, system } = process.cpuUsage(cpu)
  return { result, wallUs, nodeUs: user + system }
}
