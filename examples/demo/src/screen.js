// What a person sees: a table that is drawn anew in place, or a line a second where there is no terminal.
const { stdout } = process
const EVERY_MS = stdout.isTTY ? 150 : 1000
const BAR = 36

/** Shows the tenants until the returned function is called. */
export function watch(tenants) {
  const started = performance.now()
  let drawn = 0
  const draw = () => {
    const lines = stdout.isTTY ? table(tenants, started) : [summary(tenants, started)]
    if (drawn > 0 && stdout.isTTY) stdout.write(`\u001B[${drawn}A`)
    for (const line of lines) stdout.write(stdout.isTTY ? `\u001B[2K${line}\n` : `${line}\n`)
    drawn = lines.length
  }
  draw()
  const timer = setInterval(draw, EVERY_MS)
  return () => {
    clearInterval(timer)
    draw()
  }
}

function table(tenants, started) {
  const most = Math.max(1, ...tenants.map(({ log }) => log.length))
  return [
    `  ${seconds(started)} s${' '.repeat(25)}passed  limited  left`,
    ...tenants.map((tenant) => {
      const { name, allowed, limited, remaining } = tenant
      const numbers = `${String(allowed).padStart(6)}  ${String(limited).padStart(7)}  ${remaining.padStart(4)}`
      return `  ${name.padEnd(27)} ${numbers}  ${bar(allowed, limited, most)}`
    }),
  ]
}

function bar(allowed, limited, most) {
  const width = (count) => (count === 0 ? 0 : Math.max(1, Math.round((count / most) * BAR)))
  return `\u001B[32m${'█'.repeat(width(allowed))}\u001B[31m${'█'.repeat(width(limited))}\u001B[0m`
}

function summary(tenants, started) {
  const parts = tenants.map(({ name, allowed, limited }) => `${name.split(' ')[0]} ${allowed}/${limited}`)
  return `  ${seconds(started)} s  passed/limited: ${parts.join('  ')}`
}

function seconds(started) {
  return ((performance.now() - started) / 1000).toFixed(1).padStart(4)
}
