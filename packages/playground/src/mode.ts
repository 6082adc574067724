// Whether the page is light or dark. The site around it, made with VitePress, keeps what was chosen under the same key.

const KEY = 'vitepress-theme-appearance'
const system = matchMedia('(prefers-color-scheme: dark)')

/** Shows the mode that was chosen, or that of the system, and lets a switch change it. */
export function followMode(toggle: HTMLElement): void {
  let chosen = stored()
  const show = (): void => {
    const isDark = chosen === undefined ? system.matches : chosen === 'dark'
    if (chosen !== undefined) document.documentElement.dataset['theme'] = chosen
    toggle.setAttribute('aria-checked', String(isDark))
  }
  toggle.addEventListener('click', () => {
    chosen = toggle.getAttribute('aria-checked') === 'true' ? 'light' : 'dark'
    keep(chosen)
    show()
  })
  system.addEventListener('change', show)
  show()
}

function stored(): 'light' | 'dark' | undefined {
  try {
    const value = localStorage.getItem(KEY)
    return value === 'light' || value === 'dark' ? value : undefined
  } catch {
    // Without storage the mode of the system holds.
    return undefined
  }
}

function keep(mode: string): void {
  try {
    localStorage.setItem(KEY, mode)
  } catch {
    // It holds until the page is left.
  }
}
