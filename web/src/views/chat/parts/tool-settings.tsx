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
        Functions, as a JSON list
        <textarea
          class="code"
          rows={8}
          spellcheck={false}
          value={tools}
          aria-invalid={fault !== null}
          onInput={({ currentTarget }) => session.setSettings({ tools: currentTarget.value })}
        />
        <span class={fault === null ? 'note' : 'note bad-text'} role="status">
          {fault ?? 'The page calls nothing: you type what each call returns.'}
        </span>
      </label>
      {tools === '' ? (
        <button onClick={() => session.setSettings({ tools: EXAMPLE })}>Insert an example</button>
      ) : (
        <label class="field">
          Tool choice
          <select
            value={toolChoice}
            onChange={({ currentTarget }) =>
              session.setSettings({ toolChoice: currentTarget.value as ChatSettings['toolChoice'] })
            }
          >
            <option value="auto">auto</option>
            <option value="required">required</option>
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
    return Array.isArray(JSON.parse(tools)) ? null : 'Expected a list.';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
