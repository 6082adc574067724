import { useState } from 'preact/hooks'
import { Store } from './store.ts'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'tollgate-theme'

/** Counts up whenever colours may have changed, for what is drawn by script. */
export const colours = new Store(0)

function isTheme(value: unknown): value is Theme {
  return THEMES.includes(value as Theme)
}

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEY)
    return isTheme(value) ? value : 'system'
  } catch {
    return 'system'
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // It holds until the page is left.
  }
}

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  colours.set(colours.value + 1)
}

export function startTheme(): void {
  apply(kept())
  // What is drawn by script has no font before then.
  void document.fonts.ready.then(() => colours.set(colours.value + 1))
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => colours.set(colours.value + 1))
}

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(kept)
  const choose = (next: Theme): void => {
    keep(next)
    apply(next)
    setTheme(next)
  }
  return [theme, choose]
}
