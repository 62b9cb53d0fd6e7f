import type { ChatSession } from '../model/chat-session.ts';
import type { ChatSettings } from '../model/types.ts';

const EXAMPLE = `[
  {
    "type": "function",
    "function": {
      "name": "get_weather",
      "description": "The weather in a city",
      "parameters": {
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"]
      }
    }
  }
]`;

export function ToolSettings({ session }: { readonly session: ChatSession }) {
  const { toolChoice, tools } = session.chat.value.settings;
  const fault = faultOf(tools);
  return (
    <details class="more" open={tools !== ''}>
      <summary>Tools</summary>
      <label class="field">
        Functions, as a list in JSON
        <textarea
          class="code"
          rows={8}
          spellcheck={false}
          value={tools}
          aria-invalid={fault !== null}
          onInput={({ currentTarget }) => session.setSettings({ tools: currentTarget.value })}
        />
        <span class={fault === null ? 'note' : 'note bad-text'} role="status">
          {fault ?? 'You answer the calls by hand.'}
        </span>
      </label>
      {tools === '' ? (
        <button onClick={() => session.setSettings({ tools: EXAMPLE })}>An example</button>
      ) : (
        <label class="field">
          Calls
          <select
            value={toolChoice}
            onChange={({ currentTarget }) =>
              session.setSettings({ toolChoice: currentTarget.value as ChatSettings['toolChoice'] })
            }
          >
            <option value="auto">as the model likes</option>
            <option value="required">at least one</option>
            <option value="none">none</option>
          </select>
        </label>
      )}
    </details>
  );
}

function faultOf(tools: string): string | null {
  if (tools.trim() === '') return null;
  try {
    return Array.isArray(JSON.parse(tools)) ? null : 'Tools are a list.';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
