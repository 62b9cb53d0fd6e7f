import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';

const TAG = 'Open Inference Protocol';

/** Errors of an operation that loads the model first. */
const LOADS = [429, 503, 504] as const;

/** Each of them for the version that serves, and for one by its number. */
function ofModel(method: Operation['method'], path: string, operation: Partial<Operation>) {
  return ['/v2/models/{model}', '/v2/models/{model}/versions/{version}'].map(
    (prefix): Operation => ({ method, tag: TAG, summary: '', ...operation, path: prefix + path }),
  );
}

export const KSERVE_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v2',
    tag: TAG,
    summary: 'Name, version and extensions of this server',
    isOpen: true,
  },
  {
    method: 'get',
    path: '/v2/health/live',
    tag: TAG,
    summary: 'As /livez',
    isOpen: true,
    errors: [503],
    answer: { live: true },
  },
  {
    method: 'get',
    path: '/v2/health/ready',
    tag: TAG,
    summary: 'As /ready',
    isOpen: true,
    errors: [404, 503],
    answer: { ready: true },
  },
  ...ofModel('get', '', { summary: 'Versions, inputs and outputs of a model', errors: LOADS }),
  ...ofModel('get', '/ready', {
    summary: '200 while the model is loaded, else 503',
    errors: [503],
  }),
  ...ofModel('get', '/config', { summary: 'Triton’s configuration of a model', errors: LOADS }),
  ...ofModel('get', '/stats', { summary: 'Counts and times of a model’s generations' }),
  ...ofModel('post', '/infer', {
    summary: 'Tensors in, tensors out',
    body: bodies.infer,
    otherType: 'application/octet-stream',
  }),
  ...ofModel('post', '/generate', { summary: 'Text in, text out', body: bodies.generate }),
  ...ofModel('post', '/generate_stream', {
    summary: 'The same as events',
    body: bodies.generate,
    answerType: 'text/event-stream',
  }),
  { method: 'get', path: '/v2/models/stats', tag: TAG, summary: 'The same of all models' },
  {
    method: 'post',
    path: '/v2/repository/index',
    tag: TAG,
    summary: 'All models and their states; `{"ready": true}` lists those that are ready',
    body: bodies.repositoryIndex,
    isBodyOptional: true,
    answerSchema: {
      type: 'array',
      items: { type: 'object', required: ['name', 'version', 'state'] },
    },
  },
  {
    method: 'post',
    path: '/v2/repository/models/{model}/load',
    tag: TAG,
    summary: 'Load a model; for the operator',
    body: bodies.repositoryModel,
    isBodyOptional: true,
  },
  {
    method: 'post',
    path: '/v2/repository/models/{model}/unload',
    tag: TAG,
    summary: 'Unload a model once its requests have ended; for the operator',
    body: bodies.repositoryModel,
    isBodyOptional: true,
  },
];
