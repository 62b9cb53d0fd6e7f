import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';

const TAG = 'Open Inference Protocol';

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
    answer: { live: true },
  },
  {
    method: 'get',
    path: '/v2/health/ready',
    tag: TAG,
    summary: 'As /ready',
    isOpen: true,
    answer: { ready: true },
  },
  ...ofModel('get', '', { summary: 'Versions, inputs and outputs of a model' }),
  ...ofModel('get', '/ready', { summary: '200 while the model is loaded, else 503' }),
  ...ofModel('get', '/config', { summary: 'Triton’s configuration of a model' }),
  ...ofModel('get', '/stats', { summary: 'Counts and times of a model’s generations' }),
  ...ofModel('post', '/infer', { summary: 'Tensors in, tensors out', body: bodies.infer }),
  ...ofModel('post', '/generate', { summary: 'Text in, text out', body: bodies.generate }),
  ...ofModel('post', '/generate_stream', {
    summary: 'The same as events',
    body: bodies.generate,
    streams: true,
  }),
  { method: 'get', path: '/v2/models/stats', tag: TAG, summary: 'The same of all models' },
  {
    method: 'post',
    path: '/v2/repository/index',
    tag: TAG,
    summary: 'All models and their states; `{"ready": true}` lists those that are ready',
  },
  {
    method: 'post',
    path: '/v2/repository/models/{model}/load',
    tag: TAG,
    summary: 'Load a model; for the operator',
  },
  {
    method: 'post',
    path: '/v2/repository/models/{model}/unload',
    tag: TAG,
    summary: 'Unload a model once its requests have ended; for the operator',
  },
];
