import { apiKey, setApiKey } from '../api/key.ts';

/** The key that all forms send; it stays in this tab. */
export function KeyField() {
  return (
    <label class="key-field">
      API key
      <input
        type="password"
        autocomplete="off"
        placeholder="none"
        value={apiKey.value}
        onInput={(event) => setApiKey(event.currentTarget.value.trim(), false)}
      />
    </label>
  );
}
