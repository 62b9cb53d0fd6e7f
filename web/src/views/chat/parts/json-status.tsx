import { useMemo } from 'preact/hooks';
import { checkJson } from '../model/json-check.ts';

const MAX_SHOWN = 5;

interface JsonStatusProps {
  readonly content: string;
  /** '' for any JSON. */
  readonly schema: string;
  readonly isWhole: boolean;
}

/** Whether an answer keeps to its schema, also while it is written. */
export function JsonStatus({ content, schema, isWhole }: JsonStatusProps) {
  const check = useMemo(() => checkJson(content, schema, isWhole), [content, schema, isWhole]);
  if (check.state === 'bad') {
    return (
      <div class="json-status bad" role="status">
        <strong>{schema === '' ? 'Not valid JSON' : 'Does not match the schema'}</strong>
        <ul>
          {check.faults.slice(0, MAX_SHOWN).map(({ place, reason }) => (
            <li key={`${place} ${reason}`}>
              <code>{place}</code> {reason}
            </li>
          ))}
        </ul>
      </div>
    );
  }
  const isGood = check.state === 'good';
  const good = schema === '' ? 'Valid JSON' : 'Matches the schema';
  return (
    <p class={isGood ? 'json-status good' : 'json-status'} role="status">
      {isGood ? good : 'Valid so far'}
    </p>
  );
}
