import type { ComponentChildren, VNode } from 'preact'
import { useId } from 'preact/hooks'

interface FieldGiven {
  readonly label: string
  readonly help?: string
  readonly children: (id: string, helpId: string | undefined) => ComponentChildren
}

export function Field({ label, help, children }: FieldGiven): VNode {
  const id = useId()
  const helpId = help === undefined ? undefined : `${id}-help`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, helpId)}
      {help !== undefined && (
        <p class="help" id={helpId}>
          {help}
        </p>
      )}
    </div>
  )
}

interface TextGiven {
  readonly label: string
  readonly value: string
  readonly set: (value: string) => void
  readonly help?: string
  readonly placeholder?: string
}

export function TextField({ label, value, set, help, placeholder }: TextGiven): VNode {
  return (
    <Field label={label} {...(help !== undefined && { help })}>
      {(id, helpId) => (
        <input
          id={id}
          type="text"
          aria-describedby={helpId}
          value={value}
          placeholder={placeholder}
          autocomplete="off"
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
      )}
    </Field>
  )
}

interface NumberGiven extends Omit<TextGiven, 'value' | 'set' | 'placeholder'> {
  readonly value: number
  readonly set: (value: number) => void
  readonly min: number
  readonly max: number
  readonly step: number | 'any'
}

export function NumberField({ label, value, set, help, min, max, step }: NumberGiven): VNode {
  return (
    <Field label={label} {...(help !== undefined && { help })}>
      {(id, helpId) => (
        <input
          id={id}
          type="number"
          aria-describedby={helpId}
          value={Number.isNaN(value) ? '' : value}
          min={min}
          max={max}
          step={step}
          required
          onInput={({ currentTarget }) => set(currentTarget.valueAsNumber)}
        />
      )}
    </Field>
  )
}

interface SelectGiven {
  readonly label: string
  readonly value: string
  readonly set: (value: string) => void
  readonly options: readonly (readonly [value: string, text: string])[]
}

export function SelectField({ label, value, set, options }: SelectGiven): VNode {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={({ currentTarget }) => set(currentTarget.value)}>
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface ChoiceGiven<T extends string> {
  readonly legend: string
  readonly value: T
  readonly set: (value: T) => void
  readonly options: readonly (readonly [value: T, text: string])[]
}

export function Choice<T extends string>({ legend, value, set, options }: ChoiceGiven<T>): VNode {
  const name = useId()
  return (
    <fieldset class="field">
      <legend>{legend}</legend>
      <div class="choices">
        {options.map(([one, text]) => (
          <label key={one} class="choice">
            <input type="radio" name={name} value={one} checked={one === value} onChange={() => set(one)} />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

/** For what is written down as a rule. */
export function ReasonField({ value, set }: Pick<TextGiven, 'value' | 'set'>): VNode {
  return (
    <TextField
      label="Reason"
      value={value}
      set={set}
      help="Written down with your name."
      placeholder="Such as ticket 4711"
    />
  )
}
