import { useState } from 'preact/hooks';

interface NumberInputProps {
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** Value of an empty field. */
  readonly whenEmpty: number;
  readonly onChange: (value: number) => void;
}

/** A number that is taken when it is whole. What is being typed outlives what else is drawn meanwhile. */
export function NumberInput({ value, min, max, step, whenEmpty, onChange }: NumberInputProps) {
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <input
      type="number"
      min={min}
      max={max}
      step={step}
      value={typed ?? value}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => {
        const given = event.currentTarget.valueAsNumber;
        setTyped(null);
        onChange(Number.isNaN(given) ? whenEmpty : Math.min(max, Math.max(min, given)));
      }}
    />
  );
}
