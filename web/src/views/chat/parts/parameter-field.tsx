import { useId, useState } from 'preact/hooks';
import { parseParameter, showParameter } from '../model/parameter-text.ts';
import type { Parameter } from '../model/parameters.ts';

interface ParameterFieldProps {
  readonly parameter: Parameter;
  /** Undefined where it is not set. */
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

export function ParameterField({ parameter, value, onChange }: ParameterFieldProps) {
  const { name, kind, note, range } = parameter;
  const [typed, setTyped] = useState(showParameter(kind, value));
  const [fault, setFault] = useState<string | null>(null);
  const noteId = useId();
  // Reset from outside.
  const shown = value === undefined && fault === null ? '' : typed;
  const change = (text: string) => {
    setTyped(text);
    try {
      onChange(parseParameter(parameter, text));
      setFault(null);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  const common = {
    'aria-describedby': noteId,
    'aria-invalid': fault !== null,
    value: shown,
    placeholder: 'default',
  };
  return (
    <label class="field parameter">
      <code>{name}</code>
      {kind === 'boolean' ? (
        <select {...common} onChange={({ currentTarget }) => change(currentTarget.value)}>
          <option value="">default</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      ) : kind === 'texts' || kind === 'json' ? (
        <textarea
          {...common}
          class="code"
          rows={1}
          spellcheck={false}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      ) : (
        <input
          {...common}
          inputMode={kind === 'text' ? 'text' : 'decimal'}
          autocomplete="off"
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      )}
      <span id={noteId} class={fault === null ? 'note' : 'note bad-text'}>
        {fault ?? [note.replaceAll('`', ''), range, hintOf(kind)].filter(Boolean).join(' · ')}
      </span>
    </label>
  );
}

function hintOf(kind: Parameter['kind']): string {
  if (kind === 'texts') return 'one on each line';
  return kind === 'json' ? 'JSON' : '';
}
