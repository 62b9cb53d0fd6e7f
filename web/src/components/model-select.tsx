import { useEffect } from 'preact/hooks';
import { firstLoaded, textModels } from '../api/models.ts';

interface ModelSelectProps {
  /** Null until there is one. */
  readonly value: string | null;
  readonly onChange: (model: string) => void;
}

/** The models that generate text; the first that is loaded is taken while none is picked. */
export function ModelSelect({ value, onChange }: ModelSelectProps) {
  const listed = textModels.value;
  useEffect(() => {
    const first = firstLoaded(listed);
    if (value === null && first !== undefined) onChange(first.id);
  }, [listed]);
  return (
    <select
      class="model-select"
      aria-label="Model"
      value={value ?? ''}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {listed.map(({ id, status }) => (
        <option key={id} value={id}>
          {status.value === 'ready' ? id : `${id} (${status.value})`}
        </option>
      ))}
    </select>
  );
}
