/** Readers of bytes: files, messages, texts. */
import { create, toBinary } from '@bufbuild/protobuf';
import { parseConfig } from '../../../src/settings/config-file.ts';
import { UntrustedPathError } from '../../../src/files/untrusted-path.ts';
import { ChatTemplateError } from '../../../src/front/templates/chat-message.ts';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';
import { OutputParser } from '../../../src/front/chat/output-parser.ts';
import { TOOL_CALL_FORMATS } from '../../../src/front/tool-calls/formats.ts';
import { grammarJsonFault } from '../../../src/grammar/grammar-json.ts';
import type { GrammarForm, ToolCalls } from '../../../src/grammar/grammar-source.ts';
import { GrammarError } from '../../../src/grammar/grammar-spec.ts';
import { sourceToEbnf } from '../../../src/grammar/source-ebnf.ts';
import { decode } from '../../../src/grpc/decode.ts';
import { MessageReader } from '../../../src/grpc/message-reader.ts';
import {
  ModelInferRequestSchema,
  RepositoryModelLoadRequestSchema,
} from '../../../src/grpc/proto/inference_pb.ts';
import { toInferRequest, toResponseMessage } from '../../../src/grpc/tensor-messages.ts';
import { readImageHeader } from '../../../src/images/image-header.ts';
import { parseGgufHeader } from '../../../src/model/gguf/gguf-header.ts';
import { configSchema } from '../../../src/model/huggingface/config-schema.ts';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import {
  parseSafetensorsHeader,
  safetensorsHeaderBytes,
} from '../../../src/model/huggingface/safetensors-header.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import { externalFiles } from '../../../src/onnx/external-initializers.ts';
import { GraphBuilder } from '../../../src/onnx/graph-builder.ts';
import { givenInputs, parseModel } from '../../../src/onnx/parsed-model.ts';
import { parseApiKeys } from '../../../src/server/auth/api-key-file.ts';
import { ApiError } from '../../../src/server/errors.ts';
import { JsonText, parseScanned } from '../../../src/server/http/json-text.ts';
import { parseInferRequest, writeInferResponse } from '../../../src/server/kserve/infer-body.ts';
import { UserError } from '../../../src/user-error.ts';
import { HERMES, THINK } from '../../support/chat-formats.ts';
import { float32Tensor, ggufBytes, int32s, text, texts, uint } from '../../support/gguf-writer.ts';
import { gifBomb, pngBomb, webpBomb } from '../../support/image-bombs.ts';
import { refusable, type Target } from './target.ts';

const gguf: Target = {
  name: 'gguf',
  seeds: [
    ggufBytes(
      {
        'general.architecture': text('llama'),
        'general.alignment': uint(32),
        'tokenizer.ggml.tokens': texts(['a', 'b']),
        'tokenizer.ggml.token_type': int32s([1, 2]),
      },
      [float32Tensor('token_embd.weight', [3, 4], new Float32Array(12))],
    ),
  ],
  maxBytes: 4096,
  maxWork: 2e6,
  run(input) {
    refusable(() => parseGgufHeader(input, input.length, 'x.gguf'), ModelError);
  },
};

function safetensorsBytes(header: object): Buffer {
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, Buffer.alloc(16)]);
}

const safetensors: Target = {
  name: 'safetensors',
  seeds: [
    safetensorsBytes({
      __metadata__: { format: 'pt' },
      'norm.weight': { dtype: 'BF16', shape: [4], data_offsets: [0, 8] },
      'head.weight': { dtype: 'F32', shape: [2, 1], data_offsets: [8, 16] },
    }),
  ],
  dictionary: ['data_offsets', 'shape', 'dtype', 'F16', 'I8', 'U8', 'F64', 'BOOL'],
  maxBytes: 4096,
  maxWork: 2e6,
  // The length before the header stays right, so that what follows it is reached.
  run(input) {
    refusable(() => {
      const length = safetensorsHeaderBytes(input, input.length, 'x.safetensors');
      parseSafetensorsHeader(input.subarray(8, 8 + length), input.length, 'x.safetensors');
    }, ModelError);
    const json = input.subarray(8);
    refusable(() => parseSafetensorsHeader(json, 2 * input.length, 'x.safetensors'), ModelError);
  },
};

function smallGraph(): Buffer {
  const graph = new GraphBuilder('fuzzed');
  graph.input('x', 'float', ['rows', 4]);
  graph.node('y', 'MatMul', [
    'x',
    graph.initializer('weight', 'float', [4, 2], new Float32Array(8)),
  ]);
  graph.output('y', 'float', ['rows', 2]);
  return Buffer.from(graph.toBytes());
}

const onnx: Target = {
  name: 'onnx',
  seeds: [smallGraph()],
  dictionary: ['location', 'offset', 'length', '../weights', 'weights.data'],
  maxBytes: 4096,
  maxWork: 2e6,
  packages: ['@bufbuild/protobuf'],
  run(input) {
    // Callers make their own errors of whatever is wrong with the bytes.
    const parsed = refusable(() => parseModel(input), Error);
    if (parsed === undefined) return;
    givenInputs(parsed.graph);
    try {
      externalFiles(parsed.graph, '/models', 'x.onnx');
    } catch (error) {
      const isAnswer = error instanceof Error && /^x\.onnx\b/.test(error.message);
      if (!isAnswer && !(error instanceof UntrustedPathError)) throw error;
    }
  },
};

/** Undefined where it is none: what callers say then is theirs. */
function jsonOf(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString());
  } catch {
    return undefined;
  }
}

const modelConfig: Target = {
  name: 'model-config',
  seeds: [
    '{"architectures":["LlamaForCausalLM"],"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"intermediate_size":128,"vocab_size":256,"rms_norm_eps":1e-5,"max_position_embeddings":512,"rope_theta":10000,"tie_word_embeddings":true,"rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":128}}',
    '{"architectures":["Qwen3ForCausalLM"],"hidden_size":64,"head_dim":16,"quantization_config":{"quant_method":"gptq","bits":4,"group_size":128}}',
  ],
  dictionary: [
    ...Object.keys(configSchema.shape),
    'Gemma2ForCausalLM',
    'PhiForCausalLM',
    'yarn',
    'linear',
  ],
  maxBytes: 4096,
  maxWork: 2e6,
  run(input) {
    const json = jsonOf(input);
    if (json !== undefined) refusable(() => parseDecoderConfig(json, 'x'), ModelError);
  },
};

const settings: Target = {
  name: 'settings',
  seeds: ['model: summit\nport: 8000\napi-key:\n  - a\n  - "b"\n', '{a: [b, c]}\n', '&a x: *a\n'],
  dictionary: [
    '&a',
    '*a',
    '<<: *a',
    '!!binary',
    '? ',
    '- ',
    '|\n',
    '>-\n',
    '%YAML 1.2\n',
    '---\n',
    '...\n',
  ],
  maxBytes: 1024,
  maxWork: 2e7,
  packages: ['yaml'],
  run(input) {
    refusable(() => parseConfig('x.yaml', input.toString()), UserError);
  },
};

const apiKeys: Target = {
  name: 'api-keys',
  seeds: ['# keys\nalice key-1\nbob key-2 requests=10 tokens=100 class=gold\n'],
  dictionary: ['requests=', 'tokens=', 'class=gold', 'class='],
  maxBytes: 1024,
  maxWork: 2e6,
  run(input) {
    refusable(() => parseApiKeys(input.toString(), ['gold']), UserError);
  },
};

const CHAT = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hi' },
] as const;

const chatTemplates: Target = {
  name: 'chat-templates',
  seeds: [
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m.content | trim }}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{%- set ns = namespace(a=1) -%}{% macro f(x) %}{{ x ~ '!' }}{% endmacro %}{{ f(bos_token) }}{{ raise_exception('no') }}",
    "{{ tools | tojson(indent=2) }}{{ messages[1:] | length }}{{ messages | selectattr('role', 'equalto', 'user') | list }}",
  ],
  dictionary: [
    ...[
      '{{',
      '}}',
      '{%',
      '%}',
      '{%-',
      '-%}',
      'messages',
      'loop.index0',
      'tools',
      'namespace(',
      'set ',
      'if ',
    ],
    ...[
      'else',
      'elif ',
      'endif',
      'for ',
      'endfor',
      'macro ',
      'endmacro',
      'filter ',
      'is defined',
      'is not none',
    ],
    ...[
      '| upper',
      "| join(',')",
      '| items',
      '| map(attribute=',
      '| default(',
      '.split(',
      '.strip()',
      '[::-1]',
      ' in ',
    ],
  ],
  // Operators' own, and rendered in a thread with a deadline: loops in loops are known to take long.
  maxBytes: 320,
  maxWork: 5e7,
  packages: ['@huggingface/jinja'],
  run(input) {
    const options = {
      addGenerationPrompt: true,
      tools: [{ type: 'function', function: { name: 'f' } }],
    };
    refusable(() => {
      const template = new ChatTemplate(new Map([['default', input.toString()]]), {
        bos_token: '<s>',
      });
      template.render([...CHAT], options);
    }, ChatTemplateError);
  },
};

const grammars: Target = {
  name: 'grammars',
  seeds: [
    '{"kind":"json_schema","schema":{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$","maxLength":4},"b":{"enum":[1,"x",null]}},"required":["a"],"additionalProperties":false}}',
    '{"kind":"json_schema","schema":{"$defs":{"n":{"type":["array","null"],"items":{"$ref":"#/$defs/n"},"minItems":1}},"anyOf":[{"$ref":"#/$defs/n"},{"type":"number","minimum":-1.5,"exclusiveMaximum":10}]}}',
    '{"kind":"regex","pattern":"(a|[^b-d\\\\w]{2,3})*?\\\\d+\\\\.x$"}',
    '{"kind":"choice","choices":["yes","no","\\"\\\\"]}',
    '{"kind":"tools","tools":[{"function":{"name":"f","parameters":{"type":"object","properties":{"x":{"const":[1,{"y":2}]}}}}},{"function":{"name":"g"},"input":{"syntax":"lark","definition":"start: /a+/"}}],"isRequired":true,"parallel":true}',
    '{"kind":"lark","definition":"?start: (A | \\"b\\"i)* [r~1..2] -> x\\n  | \\"0\\"..\\"9\\"\\nr.2: start? A+\\nA: /[^a\\\\\\\\s]{1,2}./is\\n%import common (WS, INT)\\n%ignore WS // x"}',
  ],
  dictionary: [
    ...[
      '$ref',
      '#/$defs/n',
      '#',
      'allOf',
      'oneOf',
      'prefixItems',
      'format',
      'date-time',
      'patternProperties',
      'propertyNames',
    ],
    ...[
      'multipleOf',
      'minLength',
      'maxItems',
      'uniqueItems',
      'minProperties',
      '\\\\p{L}',
      '(?:',
      '(?=',
      '{0,99999}',
      '\\\\u0041',
      '%ignore ',
      '%import common.',
      'start: ',
    ],
  ],
  maxBytes: 2048,
  maxWork: 5e7,
  run(input) {
    const form = jsonOf(input) as GrammarForm | undefined;
    const kinds = {
      json_schema: 'schema',
      regex: 'pattern',
      choice: 'choices',
      lark: 'definition',
      tools: 'tools',
    } as const;
    // Other types are refused by the schemas of bodies.
    const field = kinds[form?.kind as keyof typeof kinds];
    if (form === undefined || field === undefined || !hasTypes(form)) return;
    if (grammarJsonFault('schema' in form ? form.schema : {}) !== null) return;
    refusable(() => sourceToEbnf({ form }), GrammarError);
  },
};

function hasTypes(form: GrammarForm): boolean {
  if (form.kind === 'regex') return typeof form.pattern === 'string';
  if (form.kind === 'lark') return typeof form.definition === 'string';
  if (form.kind === 'json_schema') return form.schema !== undefined;
  const isList = form.kind === 'choice' ? Array.isArray(form.choices) : form.kind === 'tools';
  if (form.kind === 'choice')
    return isList && form.choices.every((choice) => typeof choice === 'string');
  if (form.kind !== 'tools' || !Array.isArray(form.tools)) return false;
  form.tools.length = Math.min(form.tools.length, 8);
  Object.assign(form, { layout: HERMES.layout });
  return form.tools.every(
    (tool: ToolCalls['tools'][number] | null) =>
      typeof tool?.function?.name === 'string' &&
      (tool.input === undefined || typeof Object(tool.input).definition === 'string'),
  );
}

const imageHeads: Target = {
  name: 'image-heads',
  seeds: [
    pngBomb(9),
    gifBomb(),
    webpBomb().subarray(0, 200),
    // A segment of EXIF data, and the beginning of a frame.
    Buffer.from('ffd8ffe1000601020304ffc0000b080010001001011100ffd9', 'hex'),
    Buffer.from('RIFF0000WEBPVP8L0000/000000000000000'),
    Buffer.from('RIFF0000WEBPVP8 00000000000000000000'),
  ],
  dictionary: ['GIF89a', 'RIFF', 'WEBPVP8X', 'WEBPVP8L'],
  maxBytes: 4096,
  maxWork: 2e6,
  run(input) {
    const header = readImageHeader(input);
    if (header === null) return;
    const isSize = [header.width, header.height].every((side) => side >= 0 && side < 2 ** 32);
    if (!isSize) throw new TypeError(JSON.stringify(header));
  },
};

const answers: Target = {
  name: 'answers',
  seeds: [
    'So be it.\n<tool_call>\n{"name": "f", "arguments": {"x": [1, "a\\n"]}}\n</tool_call><tool_call>{"name":"g"',
    '<think>hm</think>[TOOL_CALLS][{"name":"f","arguments":{}}, {"name": "f"}]',
    '{"name": "f", "parameters": {"x": {"y": null}}}; {"name": "f", "parameters": {}}',
  ],
  dictionary: [
    '<tool_call>',
    '</tool_call>',
    '<think>',
    '</think>',
    '[TOOL_CALLS]',
    '<|python_tag|>',
    '"arguments":',
  ],
  maxBytes: 2048,
  maxWork: 5e6,
  run(input) {
    const whole = input.toString();
    for (const format of TOOL_CALL_FORMATS) {
      for (const place of ['before', 'within', 'after'] as const) {
        const toolCalls = { format, known: new Map([['f', {}]]), withheld: new Set(['g']) };
        const reasoning = { format: THINK, place, promptEnd: '' };
        const parser = new OutputParser({ reasoning, toolCalls }, 'fuzzed');
        const parts = [];
        for (let at = 0; at < whole.length; at += 5)
          parts.push(...parser.push(whole.slice(at, at + 5)));
        parts.push(...parser.flush(whole.length % 2 === 0));
        JSON.stringify(parts);
      }
    }
  },
};

/** As an answer to itself. */
function echoed(request: ReturnType<typeof parseInferRequest>) {
  return {
    model: 'm',
    version: '1',
    id: request.id,
    parameters: {},
    outputs: request.inputs,
    isFinal: true,
  };
}

const tensors: Target = {
  name: 'tensors',
  seeds: [
    '{"id":"1","inputs":[{"name":"x","shape":[2,2],"datatype":"FP32","data":[[1,2.5],[3,-4e9]]},{"name":"t","shape":[1],"datatype":"BYTES","data":["a"]}],"outputs":[{"name":"x","parameters":{"binary_data":true}}]}',
    '{"inputs":[{"name":"x","shape":[2],"datatype":"INT16","parameters":{"binary_data_size":4}}],"parameters":{"binary_data_output":true}}\0abcd',
    '{"inputs":[{"name":"t","shape":[2],"datatype":"BYTES","parameters":{"binary_data_size":11}}]}\0\u0001\0\0\0a\u0002\0\0\0bc',
  ],
  dictionary: [
    'BOOL',
    'UINT8',
    'INT8',
    'INT64',
    'UINT64',
    'FP16',
    'FP64',
    'BF16',
    'binary_data_size',
    'shape',
    'data',
  ],
  maxBytes: 2048,
  maxWork: 5e6,
  run(input) {
    const end = input.indexOf(0) < 0 ? input.length : input.indexOf(0);
    refusable(() => {
      const json = new JsonText();
      json.push(input.subarray(0, end));
      const parsed = parseScanned(json.end());
      const request = parseInferRequest(parsed, input.subarray(end + 1), {
        model: 'm',
        version: '',
      });
      const { json: pieces } = writeInferResponse(echoed(request), request);
      JSON.parse([...pieces].join(''));
    }, ApiError);
  },
};

function framed(...messages: readonly Uint8Array[]): Buffer {
  const prefixed = messages.map((bytes) => {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([prefix, bytes]);
  });
  return Buffer.concat(prefixed);
}

const grpc: Target = {
  name: 'grpc',
  seeds: [
    framed(
      toBinary(
        ModelInferRequestSchema,
        create(ModelInferRequestSchema, {
          modelName: 'm',
          parameters: { a: { parameterChoice: { case: 'int64Param', value: 1n } } },
          inputs: [
            { name: 'x', datatype: 'INT32', shape: [2n], contents: { intContents: [1, -2] } },
          ],
          outputs: [{ name: 'x' }],
        }),
      ),
      toBinary(
        ModelInferRequestSchema,
        create(ModelInferRequestSchema, {
          inputs: [{ name: 't', datatype: 'BYTES', shape: [1n] }],
          rawInputContents: [new Uint8Array([1, 0, 0, 0, 97])],
        }),
      ),
    ),
  ],
  dictionary: ['FP16', 'FP32', 'BYTES', 'UINT64', 'BOOL'],
  maxBytes: 2048,
  maxWork: 5e6,
  packages: ['@bufbuild/protobuf'],
  run(input) {
    refusable(() => {
      const reader = new MessageReader(1024);
      // In pieces, as they come.
      for (let at = 0; at < input.length; at += 7) {
        for (const { bytes } of reader.push(input.subarray(at, at + 7))) {
          refusable(() => {
            decode(RepositoryModelLoadRequestSchema, bytes);
          }, ApiError);
          toResponseMessage(echoed(toInferRequest(decode(ModelInferRequestSchema, bytes))), true);
        }
      }
    }, ApiError);
  },
};

export const READER_TARGETS: readonly Target[] = [
  ...[gguf, safetensors, onnx, modelConfig, settings, apiKeys, chatTemplates, grammars, answers],
  ...[tensors, imageHeads, grpc],
];
