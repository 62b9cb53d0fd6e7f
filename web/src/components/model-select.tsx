import { useEffect, useState } from 'preact/hooks';
import { apiKey } from '../api/key.ts';
import { listModels, type Model } from '../api/models.ts';

interface ModelSelectProps {
  /** Null until there is one. */
  readonly value: string | null;
  readonly onChange: (model: string) => void;
}

/** The models that generate text; the first that is loaded is chosen when nobody has. */
export function ModelSelect({ value, onChange }: ModelSelectProps) {
  const [models, setModels] = useState<readonly Model[]>([]);
  const key = apiKey.value;
  useEffect(() => {
    const leaving = new AbortController();
    listModels(leaving.signal).then(
      (all) => {
        const able = all.filter(generates);
        setModels(able);
        const first = able.find(({ status }) => status.value === 'ready') ?? able[0];
        if (value === null && first !== undefined) onChange(first.id);
      },
      // Whoever asks something of a model is told what is wrong.
      () => {},
    );
    return () => leaving.abort();
  }, [key]);
  return (
    <select
      class="model-select"
      aria-label="Model"
      value={value ?? ''}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {models.map(({ id, status }) => (
        <option key={id} value={id}>
          {status.value === 'ready' ? id : `${id} (${status.value})`}
        </option>
      ))}
    </select>
  );
}

/** Of a model that is not loaded, nobody may know what it does. */
function generates({ capabilities }: Model): boolean {
  return capabilities === null || capabilities.some((each) => /chat|completion|generat/.test(each));
}
