import { predictionQuery } from '../../predictions/bodies.ts';
import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';

/** Operations of models that take images. */
export const PREDICTION_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/predictions/{model}',
    tag: 'Images',
    summary: 'Labels and scores of an image, the best first',
    notes:
      'The body is the file of an image (PNG, JPEG, WebP or GIF), or JSON with one. Of a model whose `chairlift.json` has a section `image`.',
    body: bodies.prediction,
    fileType: 'image/*',
    query: predictionQuery,
    answerSchema: {
      type: 'array',
      items: {
        type: 'object',
        required: ['label', 'score'],
        properties: { label: { type: 'string' }, score: { type: 'number' } },
      },
    },
  },
];
