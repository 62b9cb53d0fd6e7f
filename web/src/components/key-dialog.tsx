import { useEffect, useRef, useState } from 'preact/hooks';
import { apiKey, closeQuestion, isKept, keyQuestion, setApiKey } from '../api/key.ts';
import { Dialog } from './dialog.tsx';

/** Asks for the API key: when the server wants one or refuses one, or when the user opens it. */
export function KeyDialog() {
  const question = keyQuestion.value;
  const [key, setKey] = useState('');
  const [keeps, setKeeps] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (question === null) return;
    setKey(apiKey.value);
    setKeeps(isKept());
    field.current?.focus();
    field.current?.select();
  }, [question]);
  if (question === null) return null;
  return (
    <Dialog title="API key" onClose={() => closeQuestion(false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setApiKey(key.trim(), keeps);
          closeQuestion(true);
        }}
      >
        <p id="key-reason" class={question.isRefused ? 'bad-text' : 'soft'}>
          {question.reason}
        </p>
        <label class="field">
          Key
          <input
            ref={field}
            type="password"
            autocomplete="off"
            aria-describedby="key-reason"
            aria-invalid={question.isRefused}
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={keeps}
            onChange={(event) => setKeeps(event.currentTarget.checked)}
          />
          Keep it in this browser
        </label>
        <p class="soft small">
          Otherwise it stays in this tab’s memory, and is gone when the tab is closed or reloaded.
        </p>
        <div class="actions">
          <button type="button" class="quiet" onClick={() => closeQuestion(false)}>
            Cancel
          </button>
          <button class="primary">Use this key</button>
        </div>
      </form>
    </Dialog>
  );
}
