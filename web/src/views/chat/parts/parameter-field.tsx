import { useEffect, useId, useState } from 'preact/hooks';
import { parseParameter, showParameter } from '../model/parameter-text.ts';
import type { Parameter } from '../model/parameters.ts';

interface ParameterFieldProps {
  readonly parameter: Parameter;
  /** Undefined where it is not set. */
  readonly value: unknown;
  /** Value that holds where it is not set, as a text. */
  readonly byDefault: string;
  readonly onChange: (value: unknown) => void;
  /** Called with what is wrong with the text that is typed; null when nothing is. */
  readonly onFault: (fault: string | null) => void;
}

/** A text as it is typed. */
interface Typed {
  readonly text: string;
  /** The value that there was then, as JSON. */
  readonly known: string | undefined;
  /** Fault of the text; null for one that is the value. */
  readonly fault: string | null;
}

export function ParameterField(props: ParameterFieldProps) {
  const { parameter, value, byDefault, onChange, onFault } = props;
  const { name, kind, note, range } = parameter;
  const [typed, setTyped] = useState<Typed | null>(null);
  const noteId = useId();
  const known = JSON.stringify(value);
  // A value that was reset, or set by a preset, is shown in place of what was typed before.
  const isTyped = typed !== null && typed.known === known;
  const shown = isTyped ? typed.text : showParameter(kind, value);
  const fault = isTyped ? typed.fault : null;
  useEffect(() => onFault(fault), [fault]);
  useEffect(() => () => onFault(null), []);
  const change = (text: string) => {
    try {
      const parsed = parseParameter(parameter, text);
      setTyped({ text, known: JSON.stringify(parsed), fault: null });
      onChange(parsed);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      setTyped({ text, known, fault: reason });
    }
  };
  const common = {
    'aria-describedby': noteId,
    'aria-invalid': fault !== null,
    value: shown,
    placeholder: byDefault,
  };
  return (
    <label class={value === undefined ? 'field parameter' : 'field parameter set'}>
      <code>{name}</code>
      {kind === 'boolean' ? (
        <select {...common} onChange={({ currentTarget }) => change(currentTarget.value)}>
          <option value="">{byDefault}</option>
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
