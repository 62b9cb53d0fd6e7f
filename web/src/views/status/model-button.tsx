import { useState } from 'preact/hooks';
import { reasonOf } from '../../api/connection.ts';
import { changeModel, type ModelStatus } from '../../api/status.ts';
import { notify } from '../../components/notices.tsx';

interface ModelButtonProps {
  readonly model: ModelStatus;
  readonly onChange: () => void;
}

/** Loads a model, or unloads it. */
export function ModelButton({ model, onChange }: ModelButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const { id, state } = model;
  const verb = state === 'ready' ? 'unload' : 'load';
  const isUnderWay = isBusy || !['ready', 'unloaded', 'failed'].includes(state);
  const change = async () => {
    setBusy(true);
    // The state by now is told before the answer, which comes when it is there.
    const telling = setTimeout(onChange, 150);
    try {
      await changeModel(verb, id);
      notify(`${id} is ${verb}ed.`);
    } catch (error) {
      notify(reasonOf(error), true);
    } finally {
      clearTimeout(telling);
      setBusy(false);
      onChange();
    }
  };
  return (
    <button
      type="button"
      disabled={isUnderWay}
      aria-label={`${verb === 'load' ? 'Load' : 'Unload'} ${id}`}
      onClick={() => void change()}
    >
      {isUnderWay ? 'Working …' : verb === 'load' ? 'Load' : 'Unload'}
    </button>
  );
}
