import type { ChatSession } from '../model/chat-session.ts';
import { schemaFault } from '../model/json-check.ts';
import type { ChatSettings } from '../model/types.ts';

const EXAMPLE = `{
  "type": "object",
  "properties": { "name": { "type": "string" } },
  "required": ["name"],
  "additionalProperties": false
}`;

export function OutputSettings({ session }: { readonly session: ChatSession }) {
  const { output, schema } = session.chat.value.settings;
  const fault = output === 'schema' ? schemaFault(schema) : null;
  return (
    <>
      <label class="field">
        Answer format
        <select
          value={output}
          onChange={({ currentTarget }) => {
            const picked = currentTarget.value as ChatSettings['output'];
            const isFirst = picked === 'schema' && schema === '';
            session.setSettings({ output: picked, ...(isFirst ? { schema: EXAMPLE } : {}) });
          }}
        >
          <option value="text">Text</option>
          <option value="json">JSON</option>
          <option value="schema">JSON by a schema</option>
        </select>
      </label>
      {output === 'schema' && (
        <label class="field">
          JSON schema
          <textarea
            class="code"
            rows={8}
            spellcheck={false}
            value={schema}
            aria-invalid={fault !== null}
            onInput={({ currentTarget }) => session.setSettings({ schema: currentTarget.value })}
          />
          <span class={fault === null ? 'note' : 'note bad-text'} role="status">
            {fault ?? 'The server keeps answers to it, and the page checks them as they come.'}
          </span>
        </label>
      )}
    </>
  );
}
