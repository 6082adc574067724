// What a person sees: lines, and a table that is drawn anew in place, or a line a second where there is no terminal.
const BAR = 30
const NUMBERS = 50

export class Screen {
  #out = process.stdout
  #drawn = 0
  #draw
  #timer

  /** Prints lines, above the table while there is one. */
  say(...lines) {
    this.#erase()
    this.#out.write(`${lines.join('\n')}\n`)
    if (this.#out.isTTY) this.#draw?.()
  }

  /** Shows how the tenants fare until `unwatch`. */
  watch(tenants, minuteMs) {
    const started = performance.now()
    this.#draw = () => {
      this.#erase()
      const ms = performance.now() - started
      const lines = this.#out.isTTY ? this.#table(tenants, ms, minuteMs) : [summary(tenants, ms, minuteMs)]
      this.#out.write(`${lines.join('\n')}\n`)
      this.#drawn = lines.length
    }
    this.#draw()
    this.#timer = setInterval(() => this.#draw(), this.#out.isTTY ? 100 : 1000)
  }

  unwatch() {
    clearInterval(this.#timer)
    this.#draw?.()
    this.#drawn = 0
    this.#draw = undefined
  }

  #erase() {
    if (this.#drawn > 0 && this.#out.isTTY) this.#out.write(`\u001B[${this.#drawn}A\u001B[J`)
    this.#drawn = 0
  }

  #table(tenants, ms, minuteMs) {
    // A line that the terminal wraps could not be drawn over.
    const width = Math.min(BAR, this.#out.columns - NUMBERS - 1)
    const most = Math.max(1, ...tenants.map(({ log }) => log.length))
    return [
      `  ${clock(ms, minuteMs).padEnd(23)}  passed  limited  left`,
      ...tenants.map(({ name, passed, limited, remaining }) => {
        const numbers = `${String(passed).padStart(6)}  ${String(limited).padStart(7)}  ${remaining.padStart(4)}`
        return `  ${name.padEnd(23)}  ${numbers}  ${bar(passed, limited, width / most)}`
      }),
    ].map((line) => (width > 0 ? line : line.slice(0, Math.max(this.#out.columns - 1, 0))))
  }
}

function bar(passed, limited, perRequest) {
  if (perRequest <= 0) return ''
  const green = Math.round(passed * perRequest)
  const red = Math.round((passed + limited) * perRequest) - green
  if (process.env.NO_COLOR) return '#'.repeat(green) + '-'.repeat(red)
  return `\u001B[32m${'█'.repeat(green)}\u001B[31m${'█'.repeat(red)}\u001B[0m`
}

function summary(tenants, ms, minuteMs) {
  const parts = tenants.map(({ name, passed, limited }) => {
    const [label] = name.trim().split(/ {2}/)
    return `${label} ${passed}/${limited}`
  })
  return `  ${clock(ms, minuteMs)}  passed/limited: ${parts.join('  ')}`
}

/** The time of the demo: minutes and seconds of its own, shorter ones. */
function clock(ms, minuteMs) {
  const seconds = Math.floor((ms / minuteMs) * 60)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
