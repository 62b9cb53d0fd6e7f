import { isServerAway } from '../../../api/connection.ts';
import { chatModels, defaultChatModel, type Model, refreshModels } from '../../../api/models.ts';

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
  /** Null is the first that is loaded. */
  readonly model: string | null;
  readonly isAnswering: boolean;
  readonly onPick: (model: string | null) => void;
}

/** A model that is not loaded can be picked: the first question has it loaded, if the server does that. */
export function ModelPicker({ model, isAnswering, onPick }: ModelPickerProps) {
  const listed = chatModels.value;
  const picked = model === null ? defaultChatModel.value : listed.find(({ id }) => id === model);
  const { state, words } = stateOf(picked, isAnswering);
  return (
    <span class="model-picker">
      <span class={`state ${state}`} title={words} />
      <select
        aria-label="Model"
        title={words}
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

/** For the dot: what is true now, which may be newer than the list of models. */
function stateOf(model: Model | undefined, isAnswering: boolean) {
  if (isServerAway.value) return { state: 'away', words: 'The server does not answer' };
  if (model === undefined) return { state: 'unloaded', words: 'Not known' };
  const { value, reason } = model.status;
  const words = reason ?? STATES[value];
  return { state: isAnswering && value === 'ready' ? 'ready busy' : value, words };
}
