import { chatModels, type Model, refreshModels } from '../../../api/models.ts';

const STATES: Readonly<Record<Model['status']['value'], string>> = {
  ready: 'ready',
  unloaded: 'not loaded',
  downloading: 'downloading',
  building: 'being built',
  loading: 'loading',
  draining: 'being unloaded',
  failed: 'failed',
};

interface ModelPickerProps {
  /** Null is the first. */
  readonly model: string | null;
  readonly onPick: (model: string | null) => void;
}

/** A model that is not loaded can be picked: the first question has it loaded, if the server does that. */
export function ModelPicker({ model, onPick }: ModelPickerProps) {
  const listed = chatModels.value;
  const picked = listed.find(({ id }) => id === model) ?? (model === null ? listed[0] : undefined);
  const state = picked?.status.value;
  return (
    <span class="model-picker">
      <span
        class={`state ${state ?? 'unloaded'}`}
        title={picked?.status.reason ?? (state ? STATES[state] : 'not known')}
      />
      <select
        aria-label="Model"
        value={picked?.id ?? model ?? ''}
        onFocus={refreshModels}
        onChange={(event) => onPick(event.currentTarget.value)}
      >
        {model !== null && picked === undefined && <option value={model}>{model}</option>}
        {listed.map(({ id, status }) => (
          <option key={id} value={id}>
            {id}
            {status.value === 'ready' ? '' : ` (${STATES[status.value]})`}
          </option>
        ))}
      </select>
    </span>
  );
}
