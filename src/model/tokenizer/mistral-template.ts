/**
 * Chat templates for Mistral's models that come without one: they write what mistral-common's tokenizers of that
 * version do.
 */

/** Versions by what they write. Those after have settings of the model in each prompt. */
const VERSIONS = ['v3', 'v7', 'v11', 'v13'];

/**
 * @param version of tekken.json
 * @param special texts of its special tokens
 * @returns null where the format is not known
 */
export function mistralTemplate(version: string, special: ReadonlySet<string>): string | null {
  const number = Number(version.slice(1));
  if (!VERSIONS.includes(version)) return null;
  const thinks = special.has('[THINK]') && number >= 13;
  const assistant = `${thinks ? THOUGHT : ''}${ANSWER}${callsOf(number)}{{- eos_token }}`;
  return [
    SETUP,
    '{%- for message in messages %}',
    `{%- if message['role'] == 'system' %}${number >= 7 ? SYSTEM : ''}`,
    "{%- elif message['role'] == 'user' %}",
    toolsAt(number >= 13 ? 'first' : 'last'),
    `{{- '[INST]' }}${number >= 7 ? '' : FIRST_SYSTEM}${CONTENT}{{- '[/INST]' }}`,
    `{%- elif message['role'] == 'assistant' %}${assistant}`,
    `{%- elif message['role'] == 'tool' %}${resultsOf(number)}`,
    "{%- else %}{{- raise_exception('Only system, user, assistant and tool messages are supported.') }}",
    '{%- endif %}{%- endfor %}',
  ].join('');
}

const SETUP =
  '{{- bos_token }}{%- set ns = namespace(first=-1, last=-1, system=none) %}{%- for message in messages %}' +
  "{%- if message['role'] == 'user' %}{%- if ns.first < 0 %}{%- set ns.first = loop.index0 %}{%- endif %}" +
  "{%- set ns.last = loop.index0 %}{%- elif message['role'] == 'system' %}{%- set ns.system = message %}{%- endif %}" +
  '{%- endfor %}';

/** An image with one text comes before it. */
const CONTENT =
  "{%- if message['content'] is string %}{{- message['content'] }}{%- else %}{%- set parts = message['content'] %}" +
  "{%- if parts | length == 2 and parts[0]['type'] == 'text' and parts[1]['type'] != 'text' %}" +
  "{%- set parts = [parts[1], parts[0]] %}{%- endif %}{%- for part in parts %}{%- if part['type'] == 'text' %}" +
  "{{- part['text'] }}{%- else %}{{- '[IMG]' }}{%- endif %}{%- endfor %}{%- endif %}";

const SYSTEM = `{{- '[SYSTEM_PROMPT]' }}${CONTENT}{{- '[/SYSTEM_PROMPT]' }}`;

/** Before version 7 it is part of the last turn of the user. */
const FIRST_SYSTEM =
  "{%- if loop.index0 == ns.last and ns.system is not none %}{{- ns.system['content'] + '\\n\\n' }}{%- endif %}";

const toolsAt = (turn: 'first' | 'last'): string =>
  `{%- if tools and loop.index0 == ns.${turn} %}` +
  "{{- '[AVAILABLE_TOOLS]' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}{%- endif %}";

const THOUGHT =
  "{%- if message['reasoning_content'] %}{{- '[THINK]' + message['reasoning_content'] + '[/THINK]' }}{%- endif %}";
const ANSWER =
  "{%- if message['content'] is string %}{{- message['content'].rstrip(' ') }}{%- elif message['content'] %}" +
  "{%- for part in message['content'] %}{%- if part['type'] == 'text' %}{{- part['text'] }}{%- endif %}{%- endfor %}" +
  '{%- endif %}';

/** A JSON text stays as it is. */
const ARGUMENTS =
  "{%- set arguments = call['function']['arguments'] %}" +
  '{%- if arguments is not string %}{%- set arguments = arguments | tojson %}{%- endif %}';

function callsOf(number: number): string {
  const each = `{%- if message['tool_calls'] %}{%- for call in message['tool_calls'] %}${ARGUMENTS}`;
  const end = '{%- endfor %}{%- endif %}';
  const name = "call['function']['name']";
  if (number >= 13) return `${each}{{- '[TOOL_CALLS]' + ${name} + '[ARGS]' + arguments }}${end}`;
  if (number >= 11) {
    const id = "{%- if call['id'] %}{{- '[CALL_ID]' + call['id'] }}{%- endif %}";
    return `${each}{{- '[TOOL_CALLS]' + ${name} }}${id}{{- '[ARGS]' + arguments }}${end}`;
  }
  const object =
    `{{- ('[TOOL_CALLS][' if loop.first else ', ') + '{"name": "' + ${name} + '", "arguments": ' + arguments }}` +
    "{%- if call['id'] %}{{- ', \"id\": \"' + call['id'] + '\"' }}{%- endif %}{{- '}' }}" +
    "{%- if loop.last %}{{- ']' }}{%- endif %}";
  return each + object + end;
}

function resultsOf(number: number): string {
  if (number >= 13) return `{{- '[TOOL_RESULTS]' }}${CONTENT}{{- '[/TOOL_RESULTS]' }}`;
  if (number >= 7) {
    const id = "{{- '[TOOL_RESULTS]' + message['tool_call_id'] + '[TOOL_CONTENT]' }}";
    return `${id}${CONTENT}{{- '[/TOOL_RESULTS]' }}`;
  }
  // Objects and lists are what they are, other texts are texts.
  return (
    "{%- set content = message['content'] %}{%- if content[:1] not in ['{', '['] %}" +
    '{%- set content = content | tojson %}{%- endif %}{{- \'[TOOL_RESULTS]{"content": \' + content + ' +
    "', \"call_id\": \"' + message['tool_call_id'] + '\"}[/TOOL_RESULTS]' }}"
  );
}
