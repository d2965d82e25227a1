/** A list of choices, as the system draws it. */
import { Icon } from "./icons.tsx";

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly onChange: (value: string) => void;
  readonly boxed?: boolean;
}

export function Select({ label, value, options, onChange, boxed = false }: SelectProps) {
  return (
    <span class="select-wrap">
      <select
        class={boxed ? "select boxed" : "select"}
        aria-label={label}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
      <Icon sign="down" />
    </span>
  );
}
