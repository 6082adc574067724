import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { customerHref, looksLikeAddress } from '../route.ts'
import { shownText } from '../words.ts'

/** An id is another's text: long, of any script, with signs that nobody sees. */
export function Name({ id }: { readonly id: string }): VNode {
  const shown = shownText(id)
  return (
    <bdi class="name" title={shown}>
      {shown}
    </bdi>
  )
}

export function CustomerLink({ id, plan }: { readonly id: string; readonly plan?: string }): VNode {
  const isAddress = looksLikeAddress(id)
  return (
    <a class="customer-link" href={customerHref({ id, ...(plan && { plan }), isAddress })}>
      <Name id={id} />
    </a>
  )
}

const SHOWN_MS = 1_600

export function CopyButton({ text }: { readonly text: string }): VNode {
  const [said, setSaid] = useState('')
  const copy = async (): Promise<void> => {
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    setSaid(done ? 'Copied' : 'Not copied')
    window.setTimeout(() => setSaid(''), SHOWN_MS)
  }
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      {said || 'Copy id'}
    </button>
  )
}
