/** The parameters of a chat request, as the server's own document describes them. */
import type { Model } from '../../../api/models.ts';
import { requestJson } from '../../../api/request.ts';
import { formatNumber } from '../../../format.ts';
import { CHAT_PATH } from '../request/stream-chat.ts';

export type ParameterKind = 'number' | 'integer' | 'boolean' | 'text' | 'texts' | 'json';

export interface Parameter {
  readonly name: string;
  readonly kind: ParameterKind;
  /** Effect, in a sentence. */
  readonly note: string;
  /** Such as `0 to 2`; '' where there is none. */
  readonly range: string;
  readonly min: number | null;
  readonly max: number | null;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

/** Those that most people want come first. */
export const MAIN_PARAMETERS = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'max_completion_tokens',
  'seed',
  'stop',
  'n',
];

/** Fields that the page sets by itself, or has another place for. */
const ELSEWHERE = new Set([
  'model',
  'messages',
  'max_tokens',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'response_format',
  'guided_json',
  'logprobs',
  'top_logprobs',
  'prompt_logprobs',
  'return_token_ids',
  'return_tokens_as_token_ids',
  'echo',
  'add_generation_prompt',
  'continue_final_message',
  'best_of',
]);

/** Values that hold for every model where a request has none. */
const DEFAULTS: Readonly<Record<string, string>> = {
  frequency_penalty: '0',
  ignore_eos: 'no',
  min_tokens: '0',
  n: '1',
  parallel_tool_calls: 'yes',
  presence_penalty: '0',
  seed: 'random',
  skip_special_tokens: 'yes',
  stop: 'none',
};

/** Value that holds where a parameter is not set, for people. */
export function defaultOf(name: string, model: Model | undefined): string {
  const value = model?.default_sampling_params?.[name];
  if (value !== undefined) return name === 'top_k' && value === 0 ? 'off' : String(value);
  if (name === 'max_completion_tokens' && model?.max_model_len) {
    return `to ${formatNumber(model.max_model_len)}`;
  }
  return DEFAULTS[name] ?? 'default';
}

interface ApiDocument {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly post?: {
          readonly requestBody?: {
            readonly content: {
              readonly 'application/json': {
                readonly schema: { readonly properties: Readonly<Record<string, Schema>> };
              };
            };
          };
        };
      }
    >
  >;
}

let loaded: Promise<readonly Parameter[]> | undefined;

export function loadParameters(): Promise<readonly Parameter[]> {
  loaded ??= requestJson<ApiDocument>('/openapi.json').then(toParameters);
  loaded.catch(() => (loaded = undefined));
  return loaded;
}

function toParameters({ paths }: ApiDocument): Parameter[] {
  const schema = paths[CHAT_PATH]?.post?.requestBody?.content['application/json'].schema;
  return Object.entries(schema?.properties ?? {})
    .filter(([name]) => !ELSEWHERE.has(name))
    .map(([name, each]) => toParameter(name, each))
    .sort((a, b) => rank(a) - rank(b));
}

function rank({ name }: Parameter): number {
  const index = MAIN_PARAMETERS.indexOf(name);
  return index === -1 ? MAIN_PARAMETERS.length : index;
}

function toParameter(name: string, schema: Schema): Parameter {
  const value = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;
  const min = value.minimum ?? value.exclusiveMinimum ?? null;
  const max = value.maximum ?? null;
  return {
    name,
    kind: kindOf(value),
    note: schema.description ?? '',
    range: rangeOf(value),
    min,
    max,
  };
}

function kindOf({ type, anyOf, items }: Schema): ParameterKind {
  const types = typeof type === 'string' ? [type] : (type ?? []);
  if (types.includes('number')) return 'number';
  if (types.includes('integer')) return 'integer';
  if (types.includes('boolean')) return 'boolean';
  if (types.includes('string')) return 'text';
  const list = types.includes('array')
    ? items
    : anyOf?.find((each) => each.type === 'array')?.items;
  return list?.type === 'string' ? 'texts' : 'json';
}

function rangeOf({ minimum, exclusiveMinimum, maximum }: Schema): string {
  const low = exclusiveMinimum === undefined ? minimum : `above ${exclusiveMinimum}`;
  if (low === undefined) return maximum === undefined ? '' : `up to ${maximum}`;
  if (maximum === undefined) return exclusiveMinimum === undefined ? `from ${low}` : `${low}`;
  return `${low} to ${maximum}`;
}
