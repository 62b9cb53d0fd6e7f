import { documentedBodies as bodies } from '../documented-bodies.ts';
import { tokenizerQuery } from '../../schemas/bodies.ts';
import type { Operation } from '../operation.ts';
import { QUESTION } from './question.ts';

const ADMIN_NOTES =
  'Takes the admin key or, where the server has no keys, a request from this machine. Refused with --model-control none and poll.';

const ADAPTER_NOTES =
  'Takes the admin key or, where the server has no keys, a request from this machine.';

export const MODEL_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/models',
    tag: 'Models',
    summary: 'List what is served',
    notes: 'Clients that send `anthropic-version` get it in Anthropic’s form.',
    optionalFields: ['object'],
    answer: {
      object: 'list',
      data: [{ id: 'summit', object: 'model', owned_by: 'chairlift', max_model_len: 2048 }],
    },
  },
  {
    method: 'get',
    path: '/models',
    tag: 'Models',
    summary: 'The same with llama-server’s states, without a key',
    isOpen: true,
  },
  {
    method: 'post',
    path: '/models/load',
    tag: 'Models',
    summary: 'Load a model, and answer when it is ready',
    notes: ADMIN_NOTES,
    body: bodies.loadModel,
    answer: { success: true },
  },
  {
    method: 'post',
    path: '/models/unload',
    tag: 'Models',
    summary: 'Unload a model once the requests that use it have ended',
    notes: ADMIN_NOTES,
    body: bodies.loadModel,
    answer: { success: true },
  },
  {
    method: 'post',
    path: '/v1/load_lora_adapter',
    tag: 'Models',
    summary: 'Load a LoRA adapter out of --lora-dir; requests pick it as their model',
    notes: ADAPTER_NOTES,
    body: bodies.loadAdapter,
    answerType: 'text/plain',
  },
  {
    method: 'post',
    path: '/v1/unload_lora_adapter',
    tag: 'Models',
    summary: 'Forget a LoRA adapter; requests that run with it go on',
    notes: ADAPTER_NOTES,
    body: bodies.unloadAdapter,
    answerType: 'text/plain',
  },
  {
    method: 'get',
    path: '/lora-adapters',
    tag: 'Models',
    summary: 'List LoRA adapters, as llama-server does',
    answerSchema: { type: 'array', items: { type: 'object', required: ['id', 'path', 'scale'] } },
  },
  {
    method: 'get',
    path: '/models/sse',
    tag: 'Models',
    summary: 'Events about the states of models, as in llama-server',
    errors: [429],
    answerType: 'text/event-stream',
  },
  {
    method: 'get',
    path: '/v1/models/{id}',
    tag: 'Models',
    summary: 'Get one model',
  },
  {
    method: 'post',
    path: '/v1/chat/completions/render',
    tag: 'Tokens and templates',
    summary: 'The prompt that a conversation comes to',
    body: bodies.chatCompletions,
    example: { messages: QUESTION },
    answer: { prompt: '<|im_start|>user\nWhat is 23 + 45?', token_ids: [1, 42], count: 2 },
  },
  {
    method: 'post',
    path: '/apply-template',
    tag: 'Tokens and templates',
    summary: 'The same under llama.cpp’s name',
    body: bodies.chatCompletions,
    example: { messages: QUESTION },
  },
  {
    method: 'post',
    path: '/v1/completions/render',
    tag: 'Tokens and templates',
    summary: 'The token ids of a raw prompt, as routers ask for them',
    body: bodies.tokenize,
    example: { prompt: 'Hello there' },
    answerSchema: { type: 'array', items: { type: 'object', required: ['token_ids', 'count'] } },
  },
  {
    method: 'post',
    path: '/v1/prefetch',
    tag: 'Tokens and templates',
    summary: 'Compute what prompts will begin with, while there is nothing else to do',
    body: bodies.prefetch,
    example: { messages: QUESTION },
    answer: {
      object: 'prefetch',
      model: 'summit',
      prompt_tokens: 21,
      cached_tokens: 16,
      computed_tokens: 21,
    },
  },
  {
    method: 'post',
    path: '/tokenize',
    tag: 'Tokens and templates',
    summary: 'Text or conversation to token ids',
    body: bodies.tokenize,
    example: { prompt: 'Hello there', return_token_strs: true },
    answer: { count: 2, max_model_len: 2048, tokens: [412, 961], token_strs: ['Hello', 'Ġthere'] },
    optionalFields: ['token_strs'],
  },
  {
    method: 'post',
    path: '/detokenize',
    tag: 'Tokens and templates',
    summary: 'Token ids to text',
    body: bodies.detokenize,
    example: { tokens: [73, 74] },
    answer: { prompt: 'ab' },
  },
  {
    method: 'get',
    path: '/tokenizer_info',
    tag: 'Tokens and templates',
    summary: 'The tokenizer’s configuration, special tokens and chat template',
    notes:
      'Of the model that `model` names, or of the first; as lm-eval’s remote tokenizer reads it.',
    query: tokenizerQuery,
    errors: [404, 429, 503, 504],
    answer: { tokenizer_class: 'PreTrainedTokenizerFast', eos_token: '<|im_end|>' },
    optionalFields: ['eos_token'],
  },
];
