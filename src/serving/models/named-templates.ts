/** Chat templates by llama.cpp's names, for models that come without one. They know no tools. */
export const NAMED_TEMPLATES: ReadonlyMap<string, string> = new Map([
  ['alpaca', String.raw`{%- set ns = namespace(system=none, count=0) -%}
{%- for message in messages -%}
  {%- if message['role'] == 'system' -%}{%- set ns.system = message['content'] -%}{%- endif -%}
{%- endfor -%}
{{ ns.system or 'Below is an instruction that describes a task. Write a response that completes the request.' }}

{% for message in messages -%}
  {%- if message['role'] == 'user' -%}
    {%- set ns.count = ns.count + 1 -%}
### Instruction {{ ns.count }}:
{{ message['content'].rstrip() }}

{% elif message['role'] == 'assistant' -%}
### Response:
{{ message['content'].lstrip('\n') }}{{ eos_token }}

{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}### Response:
{% endif -%}
`],
  ['chatml', String.raw`{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}
`],
  ['gemma', String.raw`{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}{{ raise_exception('System role not supported') }}{%- endif -%}
{%- for message in messages -%}
  {%- if (message['role'] == 'user') != (loop.index0 is even) -%}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{%- endif -%}
  {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
  {{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}
`],
  ['llama2', String.raw`{%- if messages[0]['role'] == 'system' -%}
  {%- set before = '<<SYS>>\n' + messages[0]['content'] + '\n<</SYS>>\n\n' -%}
  {%- set turns = messages[1:] -%}
{%- else -%}
  {%- set before = '' -%}
  {%- set turns = messages -%}
{%- endif -%}
{%- for turn in turns -%}
  {%- if (turn['role'] == 'user') != (loop.index0 % 2 == 0) -%}
    {{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') -}}
  {%- endif -%}
  {%- if turn['role'] == 'user' -%}
    {{- bos_token + '[INST] ' + ((before if loop.first else '') + turn['content']).strip() + ' [/INST]' -}}
  {%- else -%}
    {{- ' ' + turn['content'].strip() + ' ' + eos_token -}}
  {%- endif -%}
{%- endfor -%}
`],
  ['llama3', String.raw`{%- macro turn(role) -%}
<|start_header_id|>{{ role }}<|end_header_id|>

{% endmacro -%}
{{- bos_token -}}
{%- if tools is not none and tools -%}
  {{- turn('system') }}Functions:
{%- for tool in tools %}
{{ tool | tojson(indent=4) }}
{% endfor %}<|eot_id|>
{%- endif -%}
{%- for message in messages -%}
  {%- if message.role in ('tool', 'ipython') -%}
    {{- turn('ipython') }}{{ message.content | tojson }}<|eot_id|>
  {%- elif message.tool_calls is defined and message.tool_calls -%}
    {%- for call in message.tool_calls -%}
    {{- turn('assistant') }}{"name": "{{ call.function.name }}", "parameters": {{ call.function.arguments | tojson }}}<|eot_id|>
    {%- endfor -%}
  {%- else -%}
    {{- turn(message['role']) + message['content'] | trim + '<|eot_id|>' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ turn('assistant') }}{% endif -%}
`],
  ['openchat', String.raw`{{ bos_token }}{% for message in messages %}{{ 'GPT4 Correct ' + message['role'].title() + ': ' + message['content'] + '<|end_of_turn|>'}}{% endfor %}{% if add_generation_prompt %}{{ 'GPT4 Correct Assistant:' }}{% endif %}
`],
  ['vicuna', String.raw`{% if messages[0].role == 'system' %}{{ messages[0].content ~ ' ' }}{% endif %}
{% for message in messages if message.role != 'system' %}
{%- if message.role == 'user' %}{{ 'USER: ' ~ message.content ~ ' ' }}{% else %}{{ 'ASSISTANT: ' ~ message.content ~ eos_token }}{% endif %}
{% endfor %}
{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}
`],
  ['zephyr', String.raw`{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}
`],
]);
